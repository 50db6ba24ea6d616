package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"longhaul/internal/notify/notifytest"
	"longhaul/internal/task"
)

var (
	stuckMessages = flag.Int("stuck", 30, "number of messages for a receiver that hangs")
	notifiedTasks = flag.Int("notified", 60, "number of tasks in TestWebhooks_sentAfterTheState")
)

// notifySettings returns settings with short retry delays, so that all attempts end within seconds.
func notifySettings(retries string, more ...string) []string {
	return append([]string{"LONGHAUL_NOTIFY_ALLOW_PRIVATE=127.0.0.1", "LONGHAUL_NOTIFY_RETRIES=" + retries}, more...)
}

// newReceiver starts a webhook receiver that ends with the test.
func newReceiver(t testing.TB, reply func(notifytest.Call) notifytest.Reply) *notifytest.Receiver {
	r := notifytest.New(reply)
	t.Cleanup(r.Close)
	return r
}

// register registers a webhook endpoint.
func (s *stack) register(body string) task.Endpoint {
	s.t.Helper()
	status, answer := s.post("/v1/webhooks", body)
	require.Equal(s.t, http.StatusCreated, status, answer)
	var e task.Endpoint
	require.NoError(s.t, json.Unmarshal([]byte(answer), &e))
	return e
}

// deliveries lists the messages of a task.
func (s *stack) deliveries(id string) []task.Delivery {
	s.t.Helper()
	status, answer := s.get("/v1/tasks/" + id + "/deliveries")
	require.Equal(s.t, http.StatusOK, status, answer)
	var page task.Page[task.Delivery]
	require.NoError(s.t, json.Unmarshal([]byte(answer), &page))
	return page.Data
}

// waitDelivery waits until the only message of a task has a status, and returns it.
func (s *stack) waitDelivery(id string, want task.DeliveryStatus) task.Delivery {
	s.t.Helper()
	var last []task.Delivery
	require.Eventually(s.t, func() bool {
		last = s.deliveries(id)
		return len(last) == 1 && last[0].Status == want
	}, time.Minute, 50*time.Millisecond, "the message does not become %s", want)
	return last[0]
}

func (s *stack) redeliver(id string, want int) task.Delivery {
	s.t.Helper()
	status, answer := s.post("/v1/deliveries/"+id+"/redeliver", "")
	require.Equal(s.t, want, status, answer)
	var d task.Delivery
	require.NoError(s.t, json.Unmarshal([]byte(answer), &d))
	return d
}

func verifySignature(t *testing.T, secret string, call notifytest.Call) {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(call.Body, call.Header))
}

// parseMessage returns the body of a webhook call.
func parseMessage(t *testing.T, call notifytest.Call) (m struct {
	Type      task.Occasion
	Timestamp time.Time
	Data      struct {
		ID, Kind, URL string
		Status        task.State
		Outcome       task.Outcome
		Revision      int64
		Labels        map[string]string
		Error         *struct {
			Code     task.Code
			Detail   string
			Attempts int
		}
	}
},
) {
	t.Helper()
	require.NoError(t, json.Unmarshal(call.Body, &m))
	return m
}

// verifyInNode verifies calls with the JavaScript library of the Standard Webhooks specification, if node and npm are
// available.
func verifyInNode(t *testing.T, secret string, calls []notifytest.Call) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("signatures are not verified in JavaScript: node is not installed")
		return
	}
	dir := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--silent", "standardwebhooks@1.0.0")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Logf("signatures are not verified in JavaScript: npm install: %v %s", err, tail(string(out), 300))
		return
	}
	type sent struct {
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
	}
	var all []sent
	for _, call := range calls {
		one := sent{Body: string(call.Body), Headers: map[string]string{}}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			one.Headers[name] = call.Header.Get(name)
		}
		all = append(all, one)
	}
	input, err := json.Marshal(all)
	require.NoError(t, err)
	const script = `const {Webhook} = require("standardwebhooks");
const calls = JSON.parse(require("fs").readFileSync(0, "utf8"));
for (const c of calls) new Webhook(process.argv[2]).verify(c.body, c.headers);
try { new Webhook(process.argv[2]).verify(calls[0].body + " ", calls[0].headers); process.exit(1) } catch (e) {}
console.log("verified " + calls.length);`
	file := filepath.Join(dir, "verify.js")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	run := exec.CommandContext(t.Context(), node, file, secret)
	run.Dir, run.Stdin = dir, bytes.NewReader(input)
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("JavaScript: %s", out)
}
