package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"longhaul/internal/video"
)

func arkBody(req video.Request) map[string]any {
	var content []any
	if req.Prompt != "" {
		content = append(content, map[string]any{"type": "text", "text": req.Prompt})
	}
	if req.Image != nil {
		content = append(content, map[string]any{"type": "image_url", "image_url": imageURL(req), "role": "first_frame"})
	}
	return filled(map[string]any{
		"model": req.Model, "content": content, "duration": req.Seconds, "resolution": req.Resolution, "ratio": req.Aspect,
		"safety_identifier": req.Fence, "seed": req.Seed,
	})
}

// videosBody has its seconds as a string, and one field for resolution and aspect.
func videosBody(req video.Request) map[string]any {
	body := map[string]any{"model": req.Model, "prompt": req.Prompt, "seed": req.Seed, "metadata": metadata(req)}
	if req.Seconds > 0 {
		body["seconds"] = strconv.Itoa(req.Seconds)
	}
	if width, height, ok := size(req); ok {
		body["size"] = fmt.Sprintf("%dx%d", width, height)
	}
	if req.Image != nil {
		body["input_reference"] = map[string]any{"image_url": req.Image.Address()}
	}
	return filled(body)
}

func newapiBody(req video.Request) map[string]any {
	body := map[string]any{"model": req.Model, "prompt": req.Prompt, "duration": req.Seconds, "seed": req.Seed, "metadata": metadata(req)}
	if width, height, ok := size(req); ok {
		body["width"], body["height"] = width, height
	}
	if req.Image != nil {
		body["image"] = req.Image.Address()
	}
	return filled(body)
}

func openrouterBody(req video.Request) map[string]any {
	body := map[string]any{
		"model": req.Model, "prompt": req.Prompt, "duration": req.Seconds, "resolution": req.Resolution, "aspect_ratio": req.Aspect, "seed": req.Seed,
	}
	if req.Image != nil {
		body["frame_images"] = []any{map[string]any{"type": "image_url", "image_url": imageURL(req), "frame_type": "first_frame"}}
	}
	return filled(body)
}

func xaiBody(req video.Request) map[string]any {
	body := map[string]any{
		"model": req.Model, "prompt": req.Prompt, "duration": req.Seconds, "resolution": req.Resolution, "aspect_ratio": req.Aspect,
	}
	if req.Image != nil {
		body["image"] = imageURL(req)
	}
	return filled(body)
}

func imageURL(req video.Request) map[string]any { return map[string]any{"url": req.Image.Address()} }

// metadata is kept by some relays, and passed over by the others.
func metadata(req video.Request) map[string]any {
	if req.Fence == "" {
		return nil
	}
	return map[string]any{fenceField: req.Fence}
}

// filled leaves out what was not asked for.
func filled(body map[string]any) map[string]any {
	for name, value := range body {
		switch v := value.(type) {
		case string:
			drop(body, name, v == "")
		case int:
			drop(body, name, v == 0)
		case *int64:
			drop(body, name, v == nil)
		case map[string]any:
			drop(body, name, v == nil)
		}
	}
	return body
}

func drop(body map[string]any, name string, empty bool) {
	if empty {
		delete(body, name)
	}
}

// size puts resolution and aspect into pixels: the resolution is the shorter side, or already both. One of the
// two alone goes with 720p, or 16:9. Nothing asked for is nothing to send.
func size(req video.Request) (width, height int, ok bool) {
	if n, _ := fmt.Sscanf(strings.ToLower(req.Resolution), "%dx%d", &width, &height); n == 2 {
		return width, height, width > 0 && height > 0
	}
	if req.Resolution == "" && req.Aspect == "" {
		return 0, 0, false
	}
	var short, across, down int
	if n, _ := fmt.Sscanf(or(req.Resolution, "720p"), "%dp", &short); n != 1 || short <= 0 {
		return 0, 0, false
	}
	if n, _ := fmt.Sscanf(or(req.Aspect, "16:9"), "%d:%d", &across, &down); n != 2 || across <= 0 || down <= 0 {
		return 0, 0, false
	}
	long := 2 * int(math.Round(float64(short)*float64(max(across, down))/float64(min(across, down))/2))
	if across >= down {
		return long, short, true
	}
	return short, long, true
}
