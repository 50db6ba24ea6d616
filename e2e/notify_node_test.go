package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/notify/notifytest"
)

// byNode verifies calls with the specification's own JavaScript library, where there is node and npm can get it.
func verifyInNode(t *testing.T, secret string, calls []notifytest.Call) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("signatures are not verified in JavaScript: no node on this machine")
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
