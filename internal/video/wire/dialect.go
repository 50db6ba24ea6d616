package wire

import (
	"maps"
	"slices"
	"strings"

	"longhaul/internal/video"
)

// Dialect is what is peculiar to one sort of provider. Paths stand behind the base URL, with {id} for a job.
type Dialect struct {
	Name    string
	Hosts   []string // its domains; what is below them is its own, too
	Profile string   // of openai: what its errors mean
	Create  string
	Job     string
	Cancels bool     // DELETE of a job that has not begun ends it (and would remove one that is over)
	Content string   // where a video is whose address is not told; "" is nowhere
	List    string   // of jobs, newest first, with {model} and {page}; "" is none
	IDs     []string // where the id of a job is, besides the usual places
	// Callback is the field for an address that is told of changes; "" is none.
	Callback string
	// Body is a request as the dialect writes it. What is not asked for is left out.
	Body func(video.Request) map[string]any
}

// dialects is every dialect that is known by name. The fence goes where its provider keeps it, or might.
var dialects = map[string]Dialect{
	"ark": {
		Name: "ark", Hosts: []string{"volces.com", "bytepluses.com"}, Profile: "ark",
		Create: "/contents/generations/tasks", Job: "/contents/generations/tasks/{id}", Cancels: true,
		List:     "/contents/generations/tasks?page_num={page}&page_size=100&filter.model={model}",
		Callback: "callback_url", Body: arkBody,
	},
	"videos": {
		Name: "videos", Profile: "newapi",
		Create: "/videos", Job: "/videos/{id}", Content: "/videos/{id}/content", List: "/videos?limit=100&order=desc",
		Body: videosBody,
	},
	"newapi": {
		Name: "newapi", Profile: "newapi",
		Create: "/video/generations", Job: "/video/generations/{id}", Content: "/videos/{id}/content",
		Body: newapiBody,
	},
	"openrouter": {
		Name: "openrouter", Hosts: []string{"openrouter.ai"}, Profile: "openrouter",
		Create: "/videos", Job: "/videos/{id}", Content: "/videos/{id}/content",
		Callback: "callback_url", Body: openrouterBody,
	},
	"xai": {
		Name: "xai", Hosts: []string{"x.ai"}, Profile: "generic",
		Create: "/videos/generations", Job: "/videos/{id}", IDs: []string{"request_id"},
		Body: xaiBody,
	},
}

// Dialects lists the names that Config.Dialect may have.
func Dialects() []string { return slices.Sorted(maps.Keys(dialects)) }

// dialectAt names the dialect of the provider at a host.
func dialectAt(host string) string {
	for name, d := range dialects {
		if slices.ContainsFunc(d.Hosts, func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }) {
			return name
		}
	}
	return "videos"
}
