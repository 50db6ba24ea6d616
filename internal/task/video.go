package task

import "fmt"

// VideoInput is the input of the kind video: one or several prompts, each of which becomes a video.
type VideoInput struct {
	Prompt     string      `json:"prompt,omitempty" jsonschema:"oneof_required=prompt,minLength=1,maxLength=8000,description=content of the video"`
	Prompts    []string    `json:"prompts,omitempty" jsonschema:"oneof_required=prompts,minItems=1,maxItems=100,minLength=1,maxLength=8000,description=several prompts: one video per prompt"`
	Image      *VideoImage `json:"image,omitempty" jsonschema:"description=first frame of the video"`
	Seconds    int         `json:"seconds,omitempty" jsonschema:"minimum=1,maximum=120,description=length of a video in seconds; by default the provider's. Providers support only certain lengths"`
	Resolution string      `json:"resolution,omitempty" jsonschema:"pattern=^([0-9]{3\\,4}p|[0-9]{2\\,4}x[0-9]{2\\,4})$,description=resolution\\, such as 720p; by default the provider's"`
	Aspect     string      `json:"aspect,omitempty" jsonschema:"pattern=^[0-9]{1\\,3}:[0-9]{1\\,3}$,description=aspect ratio\\, such as 16:9; by default the provider's"`
	Seed       *int64      `json:"seed,omitempty" jsonschema:"minimum=0,maximum=4294967295,description=seed; the same seed gives a similar video at providers that support seeds"`
}

// VideoImage is a picture: exactly one of FileID and URL is set.
type VideoImage struct {
	FileID string `json:"file_id,omitempty" jsonschema:"oneof_required=file_id,maxLength=64,description=the id of an uploaded picture"`
	URL    string `json:"url,omitempty" jsonschema:"oneof_required=url,format=uri,pattern=^https?://,maxLength=2048,description=address from which the provider fetches the picture"`
}

// Normalize moves a single prompt into the prompts.
func (in *VideoInput) Normalize() {
	if in.Prompt != "" {
		in.Prompts, in.Prompt = []string{in.Prompt}, ""
	}
}

// FileIDs returns the uploaded files in the input, by JSON Pointer.
func (in *VideoInput) FileIDs() map[string]string {
	ids := map[string]string{}
	if in.Image != nil && in.Image.FileID != "" {
		ids["/input/image/file_id"] = in.Image.FileID
	}
	return ids
}

// Items returns the number of items: one per prompt.
func (in *VideoInput) Items() int { return len(in.Prompts) }

// Headline describes the input in one line, for lists of tasks.
func (in *VideoInput) Headline() string {
	first := Brief(in.Prompts[0])
	if n := len(in.Prompts); n > 1 {
		return fmt.Sprintf("Render %d videos: %s and %d more", n, first, n-1)
	}
	return "Render " + first
}
