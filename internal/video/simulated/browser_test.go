package simulated_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"longhaul/internal/browsertest"
	"longhaul/internal/video"
)

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
	ctx := browsertest.Start(t, map[string]any{"autoplay-policy": "no-user-gesture-required"})
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
