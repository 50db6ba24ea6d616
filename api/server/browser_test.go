package server_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/api/server"
	"longhaul/api/server/servertest"
)

// browser starts Chromium for a test and its subtests. Without Chromium the test is skipped, unless
// CI=true: then it fails.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium()
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("no chromium in PATH: the pages must be tested here; apt-get install chromium")
	}
	if path == "" {
		t.Skip("no chromium in PATH: the pages are not tested; apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	process, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(process)
	t.Cleanup(closeTab)
	require.NoError(t, chromedp.Do(ctx), "chromium does not start")
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

// window is a window of a browser, with a storage of its own, and the API that it shows.
type window struct {
	t     *testing.T
	ctx   context.Context
	tasks *servertest.Tasks
	stub  *stub
	url   string

	mu   sync.Mutex
	asks []string // addresses it asked for
	said []string // errors and warnings on its console, policy violations among them
}

// open starts an API and opens a window that has not shown any of it yet. When the test ends, the
// window must have had nothing to complain about and have asked nobody but the API.
func open(t *testing.T, browser context.Context, change func(*server.Parts)) *window {
	t.Helper()
	tasks := servertest.NewTasks()
	parts := servertest.Parts(t, tasks)
	if change != nil {
		change(&parts)
	}
	api, err := server.New(parts)
	require.NoError(t, err)
	front := &stub{api: api}
	srv := httptest.NewServer(front)
	t.Cleanup(srv.Close)
	w := &window{t: t, tasks: tasks, stub: front, url: srv.URL}
	ctx, closeWindow := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(w.hear))
	t.Cleanup(closeWindow)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	w.ctx = ctx
	w.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		return err
	}))
	t.Cleanup(w.check)
	return w
}

// hear is called with everything that happens in the window.
func (w *window) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.asks = append(w.asks, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.said = append(w.said, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		w.said = append(w.said, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		w.said = append(w.said, "console."+string(e.Type))
	}
}

func (w *window) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.said, "the console of the window")
	require.NotEmpty(w.t, w.asks)
	for _, address := range w.asks {
		require.True(w.t, strings.HasPrefix(address, w.url+"/") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:"+w.url), "%s is not ours", address)
	}
}

// forgive takes from the console what contains a text, and fails if nothing does.
func (w *window) forgive(text string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var rest []string
	for _, line := range w.said {
		if !strings.Contains(line, text) {
			rest = append(rest, line)
		}
	}
	require.NotEqual(w.t, len(rest), len(w.said), "%q is not on the console: %v", text, w.said)
	w.said = rest
}

func (w *window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	require.NoError(w.t, chromedp.Do(w.ctx, steps...))
}

// visit goes to a page of the API.
func (w *window) visit(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.url + path))
}

// eval gives the value of an expression in the page, or what it promises.
func eval[T any](w *window, expression string) T {
	w.t.Helper()
	value, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(w.t, err, expression)
	return value
}

// until waits for a condition in the page, and shows the page if it does not come. One that throws, as an element is not there yet, is not met.
func (w *window) until(condition string) {
	w.t.Helper()
	met := "(() => { try { return !!(" + condition + ") } catch { return false } })()"
	_, err := chromedp.Run(w.ctx, chromedp.Poll[bool](met, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(30*time.Second)))
	if err != nil {
		require.NoError(w.t, err, "%s\n%s", condition, eval[string](w, "document.body.innerText"))
	}
}

// text gives what a reader sees of an element.
func (w *window) text(selector string) string {
	w.t.Helper()
	return eval[string](w, "document.querySelector(`"+selector+"`).innerText")
}
