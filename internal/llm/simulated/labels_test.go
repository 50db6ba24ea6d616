package simulated_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/llm"
	"longhaul/internal/llm/openai"
)

// Every text gets a line of its own, however many share the call.
func TestLabels(t *testing.T) {
	t.Parallel()
	client, err := openai.New(openai.Config{BaseURL: start(t)})
	require.NoError(t, err)
	const system = "Labels:\n- delivery: a parcel is late or lost\n- account: password, signing in\n- other: none of them fits\n"
	user := "<text name=\"1\">\nMy parcels never came.\n</text>\n<text name=\"2\">\nI lost the password of the parcel.\n</text>\n<text name=\"3\">\nGood morning!\n</text>\n"
	form := func(labels string) json.RawMessage {
		return json.RawMessage(`{"type":"object","required":["results"],"properties":{"results":{"type":"array","items":{"type":"object","required":["number","labels","confidence"],"properties":{
			"number":{"type":"integer"},"confidence":{"type":"number","maximum":1},"labels":` + labels + `}}}}}`)
	}
	for name, test := range map[string]struct{ labels, want string }{
		"one": {`{"type":"array","minItems":1,"maxItems":1,"items":{"enum":["delivery","account","other"]}}`, `{"results":[
			{"number":1,"labels":["delivery"],"confidence":0.5},{"number":2,"labels":["delivery"],"confidence":0.6666666666666666},{"number":3,"labels":["other"],"confidence":0}]}`},
		"several": {`{"type":"array","minItems":1,"items":{"enum":["delivery","account"]}}`, `{"results":[
			{"number":1,"labels":["delivery"],"confidence":0.5},{"number":2,"labels":["delivery","account"],"confidence":0.6666666666666666},{"number":3,"labels":["delivery"],"confidence":0}]}`},
	} {
		req := llm.Request{Model: "any", Messages: []llm.Message{{Role: "system", Content: system}, {Role: "user", Content: user}}, Schema: &llm.Schema{JSON: form(test.labels)}}
		got, err := client.Complete(t.Context(), req, nil)
		require.NoError(t, err, name)
		require.JSONEq(t, test.want, got.Text, name)
	}
}
