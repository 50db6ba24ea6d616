package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	videoacts "longhaul/activities/video"
	"longhaul/internal/browsertest"
	"longhaul/internal/localtemporal"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

// newVideoStack returns a stack with a scripted provider of videos.
func newVideoStack(t testing.TB, opts localtemporal.Options, settings ...string) (*stack, *videotest.Provider) {
	t.Helper()
	videos, err := videotest.Start("127.0.0.1:0", videotest.Options{})
	require.NoError(t, err)
	t.Cleanup(videos.Close)
	return newStackOn(t, opts, append([]string{
		"LONGHAUL_VIDEO_BASE_URL=" + videos.URL("ark"), "LONGHAUL_VIDEO_DIALECT=ark", "LONGHAUL_VIDEO_MODEL=m",
		"LONGHAUL_VIDEO_KEY=sk-video-secret", "LONGHAUL_VIDEO_PRICE_PER_SECOND=0.1",
	}, settings...)...), videos
}

// prompts returns n prompts, none of which contains another.
func prompts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("[wave-%03d]", i)
	}
	return all
}

// submitVideo starts a video task and returns its id.
func (s *stack) submitVideo(in task.VideoInput) string { return s.begin("video", in, nil) }

// videoItems reads the result of a video task.
func (s *stack) videoItems(id string) []videoacts.VideoItem {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(s.t, http.StatusOK, status, body)
	var out videoacts.VideoOutput
	require.NoError(s.t, json.Unmarshal([]byte(body), &out))
	return out.Videos
}

// A worker that is killed again and again, half the time during a submit, pays for each video once, and every file is
// complete.
func TestVideo_killedWorkerPaysOnce(t *testing.T) {
	s, videos := newVideoStack(t, localtemporal.Options{})
	videos.On("[wave-", videotest.Script{Start: []videotest.Reply{{Delay: 300 * time.Millisecond}}}) // the job exists before the answer is sent
	all := prompts(12 + 2**kills)
	ids := []string{}
	for i := 0; i < len(all); i += 20 {
		ids = append(ids, s.submitVideo(task.VideoInput{Prompts: all[i:min(i+20, len(all))], Seconds: 5}))
	}
	killed := 0
	for ; killed < *kills && videos.Counts().Downloads < len(all); killed++ {
		before := videos.Counts()
		calls := 1 + rand.IntN(8)
		err := videos.Wait(s.soon(), func(now videotest.Counts) bool {
			return now.Starts > before.Starts && killed%2 == 0 || // every second kill during a submit
				now.Starts+now.Polls+now.Downloads >= before.Starts+before.Polls+before.Downloads+calls && killed%2 == 1
		})
		if err != nil { // all submits were made
			break
		}
		<-time.After(rand.N(30 * time.Millisecond))
		s.worker.kill()
		s.worker = s.start("worker")
	}
	for n, id := range ids {
		done := s.finish(id)
		require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
		for i, film := range s.videoItems(id) {
			prompt := all[20*n+i]
			require.Len(t, videos.Jobs(prompt), 1, "%s is paid for once", prompt)
			_, data := s.get(film.Href)
			require.Equal(t, string(videotest.Film(prompt)), data)
		}
	}
	require.Equal(t, len(all), videos.Counts().Jobs)
	require.Empty(t, videos.Repeats())
	require.Positive(t, videos.Counts().Lists, "no kill happened during a submit")
	t.Logf("killed %d times; %+v", killed, videos.Counts())
}

// When the answer to a submit is lost, the job is found at the provider and not paid for again.
func TestVideo_lostSubmitAnswer(t *testing.T) {
	s, videos := newVideoStack(t, localtemporal.Options{}, "LONGHAUL_API_PUBLIC_URL=https://me.example.com")
	videos.On("[wave-000]", videotest.Script{Start: []videotest.Reply{{Lost: true}}})
	id := s.submitVideo(task.VideoInput{Prompts: prompts(2), Seconds: 5})
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Equal(t, videotest.Counts{Starts: 2, Jobs: 2, Polls: videos.Counts().Polls, Downloads: 2, Lists: 1}, videos.Counts())
	require.InDelta(t, 1, done.Usage.Cost.Amount, 1e-9)
	require.InDelta(t, 10, done.Usage.VideoSeconds, 0)
	_, timeline := s.get("/v1/tasks/" + id + "/timeline")
	log, err := os.ReadFile(s.worker.log)
	require.NoError(t, err)
	for _, secret := range []string{"SIGNED", "sk-video-secret"} {
		require.NotContains(t, timeline+string(log), secret, "no key and no signed URL is visible")
	}
	require.Contains(t, string(videos.Starts("[wave-001]")[0].Body), `"callback_url":"https://me.example.com/v1/callbacks/video/`+id+`/1"`)
}

// A cancel stops the job that waits, reports the cost of the job that is being rendered, and keeps the finished video.
func TestVideo_cancelReachesTheProvider(t *testing.T) {
	s, videos := newVideoStack(t, localtemporal.Options{}, "LONGHAUL_API_PUBLIC_URL=http://127.0.0.1:1")
	videos.On("[wave-000]", videotest.Script{Polls: []videotest.Step{videotest.Queued()}})
	videos.On("[wave-001]", videotest.Script{Polls: []videotest.Step{videotest.Running(20)}})
	id := s.submitVideo(task.VideoInput{Prompts: prompts(3), Seconds: 5})
	require.Eventually(t, func() bool { return s.countItems(id, "succeeded") == 1 }, time.Minute, 50*time.Millisecond)
	for _, path := range []string{id + "/0", id + "/0", id + "/77", "task_zzzzzzzzzzzzzzzzzzzzzzzzzz/0", "x/y"} {
		status, body := s.post("/v1/callbacks/video/"+path, `{"id":"made-up","status":"succeeded"}`)
		require.Equal(t, http.StatusNoContent, status)
		require.Empty(t, body)
	}
	s.post("/v1/tasks/"+id+"/cancel", "")
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.Counts{Total: 3, Succeeded: 1, Cancelled: 2}, done.Progress.Counts)
	films := s.videoItems(id)
	require.Contains(t, films[0].Error.Detail, "was stopped before it began, and is not charged for")
	require.Contains(t, films[1].Error.Detail, "goes on at the provider, and will be charged for: about 0.5 USD")
	require.Equal(t, task.ItemSucceeded, films[2].Status)
	require.Equal(t, 1, videos.Counts().Deletes)
	require.InDelta(t, 1, done.Usage.Cost.Amount, 1e-9, "the kept video and the running job")
	require.Equal(t, 1, s.countSignals(id), "one callback is valid; the others are repeated or forged")
}

// player is a page that plays a video from another origin, seeks, and reports what it played.
const player = `<video muted src="%s"></video><script>
const v = document.querySelector("video")
window.seen = new Promise((done, fail) => {
	v.onerror = () => fail(new Error(v.error.message))
	v.onloadeddata = () => { v.currentTime = 4 }
	v.onseeked = () => { v.play().catch(fail) }
	v.onended = () => done([v.videoWidth > v.videoHeight, v.duration, v.currentTime].join())
})
</script>`

// Without any key, a video is ready within seconds, and a browser plays it from the API.
func TestVideo_simulatedPlaysInBrowser(t *testing.T) {
	s := newStack(t)
	dir, _ := programs()
	cli := exec.CommandContext(t.Context(), dir+"/starter", "--api", "http://"+s.address, "submit", "video", "--prompt", "a lighthouse at dusk", "--watch")
	out, err := cli.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "render")
	_, href, _ := strings.Cut(string(out), `"href": "`)
	href, _, _ = strings.Cut(href, `"`)

	status, part := s.request(http.MethodGet, href, "", "Range", "bytes=4-7")
	require.Equal(t, http.StatusPartialContent, status)
	require.Equal(t, "ftyp", part)
	status, _ = s.request(http.MethodGet, href, "", "Range", "bytes=99999999-")
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, status)
	require.Equal(t, "true,5,5", plays(t, "http://"+s.address+href))
}

// plays plays a video in a browser and returns what player reports.
func plays(t *testing.T, address string) string {
	t.Helper()
	tab, cancel := context.WithTimeout(browsertest.Start(t, map[string]any{"autoplay-policy": "no-user-gesture-required"}), time.Minute)
	t.Cleanup(cancel)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, player, address)
	}))
	t.Cleanup(page.Close)
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(page.URL)))
	seen, err := chromedp.Run(tab, chromedp.Evaluate[string]("window.seen", chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return seen
}
