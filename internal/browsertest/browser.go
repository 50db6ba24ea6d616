// Package browsertest drives Chromium in page tests.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Start starts Chromium for a test and its subtests, with additional flags by name. Chromium can only reach loopback.
// Without Chromium the test is skipped, or fails if CI=true.
func Start(t *testing.T, flags map[string]any) context.Context {
	t.Helper()
	path := chromium()
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("chromium is not in PATH and CI=true requires the page tests; run apt-get install chromium")
	}
	if path == "" {
		t.Skip("chromium is not in PATH; run apt-get install chromium to test the pages")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	process, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(process)
	t.Cleanup(closeTab)
	require.NoError(t, chromedp.Do(ctx), "start chromium")
	return ctx
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
