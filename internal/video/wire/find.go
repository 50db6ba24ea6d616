package wire

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"longhaul/internal/llm"
	"longhaul/internal/task"
	"longhaul/internal/video"
)

// mostPages is how much of a provider's list of jobs is looked through.
const mostPages = 10

// Find looks through the provider's list for the job with the fence of req. That it is not there is believed
// only of a whole list whose jobs do show fences.
func (c *Client) Find(ctx context.Context, req video.Request) (video.Job, bool, error) {
	if c.dialect.List == "" || req.Fence == "" {
		return video.Job{}, false, c.blind(nil, "it has no list of jobs")
	}
	seen, fenced := 0, false
	for page := 1; page <= mostPages; page++ {
		r := c.list(ctx, req.Model, page)
		if r.err != nil {
			return video.Job{}, false, r.err
		}
		doc := parse(r.body)
		items, ok := jobs(doc)
		if !ok {
			return video.Job{}, false, c.blind(r.res, "what it answers is no list of jobs")
		}
		for _, item := range items {
			fence := first(item, fencePlaces)
			if fence == req.Fence {
				return c.job(item, r.res), true, nil
			}
			fenced = fenced || fence != ""
		}
		seen += len(items)
		switch {
		case !whole(doc, seen, len(items)) && strings.Contains(c.dialect.List, "{page}"):
		case whole(doc, seen, len(items)) && (fenced || seen == 0):
			return video.Job{}, false, nil
		default:
			return video.Job{}, false, c.blind(r.res, "its list does not show all jobs, or not whose they are")
		}
	}
	return video.Job{}, false, c.blind(nil, "its list is too long to look through")
}

// list gets a page of the provider's jobs.
func (c *Client) list(ctx context.Context, model string, page int) reply {
	path := strings.NewReplacer("{page}", strconv.Itoa(page), "{model}", url.QueryEscape(model)).Replace(c.dialect.List)
	r := c.do(ctx, http.MethodGet, path, nil, "")
	if r.err == nil {
		return r
	}
	none := []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}
	if r.res != nil && slices.Contains(none, r.res.StatusCode) {
		r.err = c.blind(r.res, "it has no list of jobs")
		return r
	}
	r.err = r.passing()
	return r
}

// blind is the error of a provider that cannot be asked for a job by its fence.
func (c *Client) blind(res *http.Response, why string) error {
	if res == nil {
		res = &http.Response{}
	}
	e := c.voice.Oddity(res, "the provider cannot be asked whether it has the job: %s", why)
	e.Class, e.Code = llm.Final, task.ModelRefused
	e.Err = errors.Join(video.ErrCannotFind, e.Err)
	return e
}

// jobs gives the jobs of a list, and whether it is one.
func jobs(doc any) ([]any, bool) {
	for _, place := range itemPlaces {
		if items, ok := at(doc, place).([]any); ok {
			return items, true
		}
	}
	return nil, false
}

// whole reports whether a list ends with this page.
func whole(doc any, seen, here int) bool {
	if more, told := at(doc, "has_more").(bool); told {
		return !more
	}
	total, told := number(doc, []string{"total"})
	return here == 0 || told && seen >= int(total)
}
