package simulated_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/internal/video"
)

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// play is a page that plays a film to its end and then tells how it was.
const play = `<video muted src="/film"></video><script>
const v = document.querySelector("video")
window.played = new Promise((done, fail) => {
	v.onerror = () => fail(new Error(v.error.message))
	v.onended = () => {
		const canvas = new OffscreenCanvas(v.videoWidth, v.videoHeight).getContext("2d")
		canvas.drawImage(v, 0, 0)
		const bright = (x, y) => canvas.getImageData(x, y, 1, 1).data.slice(0, 3).every(c => c > 200)
		done([v.videoWidth, v.videoHeight, v.duration, v.currentTime, bright(1, v.videoHeight - 2), bright(v.videoWidth - 2, v.videoHeight - 2), bright(1, 1)].join())
	}
	v.play().catch(fail)
})
</script>`

// TestBrowserPlays: a browser plays the film of the simulated provider to its end.
func TestBrowserPlays(t *testing.T) {
	t.Parallel()
	path := chromium()
	if path == "" && os.Getenv("CI") == "true" {
		t.Fatal("no chromium in PATH: the films must be tested here; apt-get install chromium")
	}
	if path == "" {
		t.Skip("no chromium in PATH: the films are not tested; apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	process, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(process)
	t.Cleanup(closeTab)

	c, _ := start(t, -1)
	job, err := c.Start(t.Context(), video.Request{Prompt: "a quiet sea", Seconds: 2, Aspect: "9:16"})
	require.NoError(t, err)
	job, err = c.Status(t.Context(), job.ID)
	require.NoError(t, err)
	var film bytes.Buffer
	_, err = c.Content(t.Context(), job, &film)
	require.NoError(t, err)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // one origin, so that the page may look at the pixels
		if r.URL.Path == "/film" {
			http.ServeContent(w, r, "film.mp4", time.Time{}, bytes.NewReader(film.Bytes()))
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, play)
	}))
	t.Cleanup(page.Close)

	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(page.URL)))
	began := time.Now()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[string]("window.played", chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	require.Equal(t, "180,320,2,2,true,true,false", got, "the bar below is full at the end")
	t.Log("played in", time.Since(began))
}
