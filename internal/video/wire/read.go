package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// parse reads a JSON object; anything else is nil.
func parse(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc map[string]any
	if d.Decode(&doc) != nil || doc == nil {
		return nil
	}
	return doc
}

// at gives what stands at a place such as videos.0.url, and nil when nothing does.
func at(doc any, place string) any {
	for step := range strings.SplitSeq(place, ".") {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(v) {
				return nil
			}
			doc = v[n]
		default:
			return nil
		}
	}
	return doc
}

// maxText is the longest text that is taken from an answer, in bytes: a job must fit into a history.
const maxText = 16 << 10

// text puts a string or a number into words, and anything else into none.
func text(value any) string {
	switch v := value.(type) {
	case string:
		if len(v) <= maxText {
			return strings.TrimSpace(strings.ToValidUTF8(v, "\uFFFD"))
		}
	case json.Number:
		return v.String()
	}
	return ""
}

// first gives the first words at any of the places.
func first(doc any, places []string) string {
	for _, place := range places {
		if words := text(at(doc, place)); words != "" {
			return words
		}
	}
	return ""
}

// number gives the first number at any of the places, however it is written.
func number(doc any, places []string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(first(doc, places), "%")), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// found is a job, and whether the answer said anything about it.
type found struct{ video.Job }

// told reports whether an answer says how the job stands.
func (f found) told() bool { return f.Word != "" || f.URL != "" }

// read finds the job in an answer.
func (c *Client) read(r reply) (found, bool) {
	doc := parse(r.body)
	if doc == nil {
		return found{}, false
	}
	f := found{c.job(doc, r.res)}
	return f, f.ID != "" || f.told()
}

// job puts what an answer says about a job into our words.
func (c *Client) job(doc any, res *http.Response) video.Job {
	word := stateWord(doc)
	state, known := states[squeeze(word)]
	job := video.Job{
		ID: first(doc, slices.Concat(c.dialect.IDs, idPlaces)), State: or(state, video.Running), Word: shorten(word), Known: known,
		Model: first(doc, []string{"model"}), Prompt: first(doc, promptPlaces), Progress: progress(doc), Created: created(doc),
		Simulated: res.Header.Get("X-Longhaul-Simulated") == "true",
	}
	address := c.address(doc)
	switch {
	case word == "" && address != "":
		job.State, job.Known = video.Succeeded, true
	case word == "": // a start that is only an id
		job.State, job.Known = video.Queued, true
	}
	job.Seconds, _ = number(doc, secondsPlaces)
	if seed, err := strconv.ParseInt(first(doc, []string{"seed"}), 10, 64); err == nil {
		job.Seed = &seed
	}
	if tokens, ok := number(doc, tokenPlaces); ok && tokens >= 0 && tokens < 1e15 {
		job.Usage = llm.Usage{Known: true, OutputTokens: int64(tokens)}
	}
	switch job.State {
	case video.Succeeded:
		job.URL = address
	case video.Failed:
		job.Error = c.failure(doc, res, squeeze(word))
	case video.Queued, video.Running, video.Cancelled:
	}
	return job
}

// stateWord is the provider's word for how a job stands: one that is known, or else the first that is a word.
func stateWord(doc any) string {
	strange := ""
	for _, place := range statePlaces {
		word := text(at(doc, place))
		if _, known := states[squeeze(word)]; known {
			return word
		}
		if squeeze(word) != "" {
			strange = or(strange, word)
		}
	}
	return strange
}

// shorten keeps a word fit for a log.
func shorten(word string) string {
	const most = 40
	if runes := []rune(word); len(runes) > most {
		return string(runes[:most])
	}
	return word
}

// progress reads a percentage, or a share of one.
func progress(doc any) *int {
	n, ok := number(doc, progressPlaces)
	if !ok {
		return nil
	}
	if n > 0 && n < 1 {
		n *= 100
	}
	percent := int(min(max(n, 0), 100))
	return &percent
}

// created reads a time in seconds or milliseconds since 1970.
func created(doc any) time.Time {
	const year2286, year2286InMillis = 10_000_000_000, 10_000_000_000_000
	n, ok := number(doc, []string{"created_at", "created", "data.created_at", "data.submit_time"})
	switch {
	case !ok || n <= 0 || n > year2286InMillis:
		return time.Time{}
	case n < year2286:
		n *= 1000
	}
	return time.UnixMilli(int64(n)).UTC()
}

// address finds the whole address of a video. A path is one at the provider's own origin.
func (c *Client) address(doc any) string {
	for _, place := range urlPlaces {
		words := text(at(doc, place))
		u, err := url.Parse(words)
		switch {
		case err != nil || words == "":
			continue
		case web(u) && u.Host != "":
			return words
		case strings.HasPrefix(words, "/") && u.Host == "":
			return c.base.ResolveReference(u).String()
		}
	}
	return ""
}

// failure is why a job failed. Of a reason that is not understood, another job may have another end.
func (c *Client) failure(doc any, res *http.Response, word string) *llm.Error {
	code, message := first(doc, codePlaces), first(doc, messagePlaces)
	if message == "" {
		message = "the job failed, and the provider gives no reason"
		if word == expired {
			message = "the job waited so long at the provider that it expired"
		}
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return c.voice.Oddity(res, "the job failed")
	}
	e := c.voice.Refusal(res, body)
	switch said := strings.ToLower(code + " " + message); {
	case e.Code != task.BadResponse: // it is understood
	case slices.ContainsFunc(refusals, func(word string) bool { return strings.Contains(said, word) }):
		e.Class, e.Code, e.Tries = llm.Final, task.ContentFiltered, 0
	default:
		e.Code, e.Tries = task.ModelUnavailable, 2
	}
	return e
}
