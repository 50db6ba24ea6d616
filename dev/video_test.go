package main

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
	enumspb "go.temporal.io/api/enums/v1"

	videoacts "longhaul/activities/video"
	"longhaul/internal/browsertest"
	"longhaul/internal/cluster"
	"longhaul/internal/task"
	"longhaul/internal/video/videotest"
)

// newVideoStack is a stack whose videos come from a scripted provider.
func newVideoStack(t testing.TB, opts temporalOptions, settings ...string) (*stack, *videotest.Provider) {
	t.Helper()
	videos, err := videotest.Start("127.0.0.1:0", videotest.Options{})
	require.NoError(t, err)
	t.Cleanup(videos.Close)
	return newStackOn(t, opts, append([]string{
		"LONGHAUL_VIDEO_BASE_URL=" + videos.URL("ark"), "LONGHAUL_VIDEO_DIALECT=ark", "LONGHAUL_VIDEO_MODEL=m",
		"LONGHAUL_VIDEO_KEY=sk-video-secret", "LONGHAUL_VIDEO_PRICE_PER_SECOND=0.1",
	}, settings...)...), videos
}

// prompts makes n prompts of which none is part of another.
func prompts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("[wave-%03d]", i)
	}
	return all
}

// film starts a video task and gives its id.
func (s *stack) film(in task.VideoInput) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"kind": "video", "input": in})
	require.NoError(s.t, err)
	status, answer := s.post("/v1/tasks", string(body))
	require.Equal(s.t, http.StatusAccepted, status, answer)
	var t task.Task
	require.NoError(s.t, json.Unmarshal([]byte(answer), &t))
	return t.ID
}

// films reads the result of a task.
func (s *stack) films(id string) []videoacts.VideoItem {
	s.t.Helper()
	status, body := s.get("/v1/tasks/" + id + "/result")
	require.Equal(s.t, http.StatusOK, status, body)
	var out videoacts.VideoOutput
	require.NoError(s.t, json.Unmarshal([]byte(body), &out))
	return out.Videos
}

// A worker that is killed over and over, right after a call reached the provider and at other moments, pays for
// each video once, and every file is whole.
func TestKillVideoWorker(t *testing.T) {
	s, videos := newVideoStack(t, temporalOptions{})
	videos.On("[wave-", videotest.Script{Start: []videotest.Reply{{Delay: 300 * time.Millisecond}}}) // the job is made before the answer
	all := prompts(12 + 2**kills)
	ids := []string{}
	for i := 0; i < len(all); i += 20 {
		ids = append(ids, s.film(task.VideoInput{Prompts: all[i:min(i+20, len(all))], Seconds: 5}))
	}
	killed := 0
	for ; killed < *kills && videos.Counts().Downloads < len(all); killed++ {
		before := videos.Counts()
		calls := 1 + rand.IntN(8)
		err := videos.Wait(s.soon(), func(now videotest.Counts) bool {
			return now.Starts > before.Starts && killed%2 == 0 || // half of them while a submit is answered
				now.Starts+now.Polls+now.Downloads >= before.Starts+before.Polls+before.Downloads+calls && killed%2 == 1
		})
		if err != nil { // nothing is left to submit
			break
		}
		<-time.After(rand.N(30 * time.Millisecond))
		s.worker.kill()
		s.worker = s.start("worker")
	}
	for n, id := range ids {
		done := s.finish(id)
		require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
		for i, film := range s.films(id) {
			prompt := all[20*n+i]
			require.Len(t, videos.Jobs(prompt), 1, "%s was paid for more than once", prompt)
			_, data := s.get(film.Href)
			require.Equal(t, string(videotest.Film(prompt)), data)
		}
	}
	require.Equal(t, len(all), videos.Counts().Jobs)
	require.Empty(t, videos.Repeats())
	require.Positive(t, videos.Counts().Lists, "no kill came between a submit and its answer")
	t.Logf("killed %d times; %+v", killed, videos.Counts())
}

// The answer to a submit is lost on its way: the job is found, and not paid for again.
func TestVideoAnswerLost(t *testing.T) {
	s, videos := newVideoStack(t, temporalOptions{}, "LONGHAUL_API_PUBLIC_URL=https://me.example.com")
	videos.On("[wave-000]", videotest.Script{Start: []videotest.Reply{{Lost: true}}})
	id := s.film(task.VideoInput{Prompts: prompts(2), Seconds: 5})
	done := s.finish(id)
	require.Equal(t, task.Full, done.Outcome, "%+v", done.Error)
	require.Equal(t, videotest.Counts{Starts: 2, Jobs: 2, Polls: videos.Counts().Polls, Downloads: 2, Lists: 1}, videos.Counts())
	require.InDelta(t, 1, done.Usage.Cost.Amount, 1e-9)
	require.InDelta(t, 10, done.Usage.VideoSeconds, 0)
	_, timeline := s.get("/v1/tasks/" + id + "/timeline")
	log, err := os.ReadFile(s.worker.log)
	require.NoError(t, err)
	for _, secret := range []string{"SIGNED", "sk-video-secret"} {
		require.NotContains(t, timeline+string(log), secret, "the address of a video is nobody's business, nor is the key")
	}
	require.Contains(t, string(videos.Starts("[wave-001]")[0].Body), `"callback_url":"https://me.example.com/v1/callbacks/video/`+id+`/1"`)
}

// A cancel reaches the provider: what waits is stopped, what is rendered is said to cost, what is done is kept.
func TestVideoCancel(t *testing.T) {
	s, videos := newVideoStack(t, temporalOptions{}, "LONGHAUL_API_PUBLIC_URL=http://127.0.0.1:1")
	videos.On("[wave-000]", videotest.Script{Polls: []videotest.Step{videotest.Queued()}})
	videos.On("[wave-001]", videotest.Script{Polls: []videotest.Step{videotest.Running(20)}})
	id := s.film(task.VideoInput{Prompts: prompts(3), Seconds: 5})
	require.Eventually(t, func() bool { return s.items(id, "succeeded") == 1 }, time.Minute, 50*time.Millisecond)
	for _, path := range []string{id + "/0", id + "/0", id + "/77", "task_zzzzzzzzzzzzzzzzzzzzzzzzzz/0", "x/y"} {
		status, body := s.post("/v1/callbacks/video/"+path, `{"id":"made-up","status":"succeeded"}`)
		require.Equal(t, http.StatusNoContent, status)
		require.Empty(t, body)
	}
	s.post("/v1/tasks/"+id+"/cancel", "")
	done := s.finish(id)
	require.Equal(t, task.Cancelled, done.Status)
	require.Equal(t, task.Counts{Total: 3, Succeeded: 1, Cancelled: 2}, done.Progress.Counts)
	films := s.films(id)
	require.Contains(t, films[0].Error.Detail, "was stopped before it began, and is not charged for")
	require.Contains(t, films[1].Error.Detail, "goes on at the provider, and will be charged for: about 0.5 USD")
	require.Equal(t, task.ItemSucceeded, films[2].Status)
	require.Equal(t, 1, videos.Counts().Deletes)
	require.InDelta(t, 1, done.Usage.Cost.Amount, 1e-9, "the one that was kept, and the one that goes on")
	require.Equal(t, 1, s.signals(id), "of the callbacks one came through: the others were the same, or made up")
}

// signals counts the signals that a workflow got.
func (s *stack) signals(id string) (n int) {
	c, err := cluster.Connect(cluster.Options{Address: s.temporal.Address})
	require.NoError(s.t, err)
	defer c.Close()
	for events := c.Client.GetWorkflowHistory(s.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(s.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			n++
		}
	}
	return n
}

// player is a page that plays a film from another origin, jumps, and tells what it saw.
const player = `<video muted src="%s"></video><script>
const v = document.querySelector("video")
window.seen = new Promise((done, fail) => {
	v.onerror = () => fail(new Error(v.error.message))
	v.onloadeddata = () => { v.currentTime = 4 }
	v.onseeked = () => { v.play().catch(fail) }
	v.onended = () => done([v.videoWidth > v.videoHeight, v.duration, v.currentTime].join())
})
</script>`

// With no key at all, a film is there within seconds, and a browser plays it from the API.
func TestVideoSimulated(t *testing.T) {
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

// plays plays a film in a browser.
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
