package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/video"
	"longhaul/internal/video/videotest"
)

// TestBody is what each dialect sends: all that was asked for, and nothing that was not.
func TestBody(t *testing.T) {
	t.Parallel()
	seed := int64(7)
	zero := int64(0)
	whole := video.Request{
		Model: "m", Prompt: "a sea", Image: &video.Image{ContentType: "image/png", Data: []byte{1, 2}}, Seconds: 8,
		Resolution: "720p", Aspect: "9:16", Seed: &seed, Fence: "f-1",
	}
	image := `"data:image/png;base64,AQI="`
	tests := map[string]struct {
		dialect string
		req     video.Request
		want    string
	}{
		"ark": {"ark", whole, `{"model":"m","content":[{"type":"text","text":"a sea"},{"type":"image_url","image_url":{"url":` + image + `},"role":"first_frame"}],
			"duration":8,"resolution":"720p","ratio":"9:16","seed":7,"safety_identifier":"f-1","callback_url":"https://me.example.com/cb"}`},
		"videos": {"videos", whole, `{"model":"m","prompt":"a sea","seconds":"8","size":"720x1280","seed":7,"input_reference":{"image_url":` + image + `},"metadata":{"longhaul_fence":"f-1"}}`},
		"newapi": {"newapi", whole, `{"model":"m","prompt":"a sea","duration":8,"width":720,"height":1280,"seed":7,"image":` + image + `,"metadata":{"longhaul_fence":"f-1"}}`},
		"openrouter": {"openrouter", whole, `{"model":"m","prompt":"a sea","duration":8,"resolution":"720p","aspect_ratio":"9:16","seed":7,
			"frame_images":[{"type":"image_url","image_url":{"url":` + image + `},"frame_type":"first_frame"}],"callback_url":"https://me.example.com/cb"}`},
		"xai": {"xai", whole, `{"model":"m","prompt":"a sea","duration":8,"resolution":"720p","aspect_ratio":"9:16","image":{"url":` + image + `}}`},

		"ark, next to nothing":    {"ark", video.Request{Model: "m", Prompt: "p", Seed: &zero}, `{"model":"m","content":[{"type":"text","text":"p"}],"seed":0,"callback_url":"https://me.example.com/cb"}`},
		"videos, next to nothing": {"videos", video.Request{Model: "m", Prompt: "p"}, `{"model":"m","prompt":"p"}`},
		"videos, an aspect":       {"videos", video.Request{Model: "m", Prompt: "p", Aspect: "1:1"}, `{"model":"m","prompt":"p","size":"720x720"}`},
		"videos, a resolution":    {"videos", video.Request{Model: "m", Prompt: "p", Resolution: "480p"}, `{"model":"m","prompt":"p","size":"854x480"}`},
		"videos, a wide one":      {"videos", video.Request{Model: "m", Prompt: "p", Resolution: "1080p", Aspect: "21:9"}, `{"model":"m","prompt":"p","size":"2520x1080"}`},
		"videos, pixels":          {"videos", video.Request{Model: "m", Prompt: "p", Resolution: "1024x1792"}, `{"model":"m","prompt":"p","size":"1024x1792"}`},
		"videos, no pixels":       {"videos", video.Request{Model: "m", Prompt: "p", Resolution: "best", Aspect: "1:0"}, `{"model":"m","prompt":"p"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := videotest.New(t, videotest.Options{})
			test.req.Callback = "https://me.example.com/cb"
			_, err := client(t, p, test.dialect).Start(t.Context(), test.req)
			require.NoError(t, err)
			call := p.Calls()[0]
			require.JSONEq(t, test.want, string(call.Body))
			require.Equal(t, test.req.Fence, call.Header.Get("Idempotency-Key"))
		})
	}
}

// TestRequest_hash: what makes no other video is not in what a ledger hashes.
func TestRequest_hash(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(video.Request{Model: "m", Prompt: "p", Fence: "f"})
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"m","prompt":"p"}`, string(data))
}
