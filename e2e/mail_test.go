package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/notify/notifytest"
	"longhaul/internal/task"
)

// Mails report that a task requires input, and its end.
func TestMails_inputRequiredAndEnd(t *testing.T) {
	box, err := notifytest.NewMailbox(notifytest.Refuse(450))
	require.NoError(t, err)
	t.Cleanup(box.Close)
	d := newToolServer(t)
	s := newStack(t, notifySettings("500ms,500ms", d.allowPrivate(), "LONGHAUL_SMTP_HOST=127.0.0.1", fmt.Sprintf("LONGHAUL_SMTP_PORT=%d", box.Port()),
		"LONGHAUL_SMTP_TLS=none", "LONGHAUL_SMTP_FROM=longhaul@example.com")...)
	s.scriptTurns(callTool("book", "room 7"), finalAnswer("Booked."))
	id := s.begin("agent", task.AgentInput{Goal: "book a room", Tools: []task.ToolSpec{d.tool("book", http.MethodPost, task.Always)}},
		map[string]any{"notify": map[string]any{"email": "ops@example.com"}})
	require.Eventually(t, func() bool { return len(box.Letters()) == 1 }, time.Minute, 50*time.Millisecond, "a mail reports that input is required")
	require.Contains(t, box.Letters()[0].Text, "input required")
	require.Contains(t, box.Letters()[0].Text, "It waits for a person")
	_, err = s.client.Input(s.soon(), id, task.Reply{Request: s.waitInput(id).ID, Action: task.Approve})
	require.NoError(t, err)
	require.Equal(t, task.Succeeded, s.finish(id).Status)
	require.Eventually(t, func() bool { return len(box.Letters()) == 2 }, time.Minute, 50*time.Millisecond)
	require.Contains(t, box.Letters()[1].Text, "Subject: [longhaul] agent task: succeeded")
	all := s.deliveries(id)
	require.Len(t, all, 2)
	require.Equal(t, "mailto:ops@example.com", all[0].URL)
	require.Len(t, all[0].Attempts, 2, "the mail server refused the first attempt")
}
