package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"longhaul/internal/video"
)

// Table is every dialect, for the tests.
func Table() map[string]Dialect { return dialects }

// Read is the job in a body, whoever sent it, and whether it says how that stands.
func Read(body []byte) (video.Job, bool) {
	c := Client{dialect: dialects["videos"], base: &url.URL{Scheme: "https", Host: "relay.example.com"}}
	f, ok := c.read(reply{res: &http.Response{StatusCode: http.StatusOK}, body: body})
	return f.Job, ok && f.told()
}

// Words gives the words for each state, for the tests.
func Words() map[video.State][]string {
	words := map[video.State][]string{}
	for _, word := range slices.Sorted(maps.Keys(states)) {
		words[states[word]] = append(words[states[word]], word)
	}
	return words
}
