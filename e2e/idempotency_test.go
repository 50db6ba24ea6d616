package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/client"
	"longhaul/internal/llm/llmtest"
	"longhaul/internal/task"
)

// Fifty concurrent requests with one idempotency key start one task. The key with another body is refused while the task
// runs and afterwards, and keys of different tenants are independent.
func TestIdempotencyKey_startsOneTask(t *testing.T) {
	s := newStack(t, "LONGHAUL_API_KEYS=one:key-of-one,two:key-of-two")
	s.provider.On("bridge", llmtest.Reply{}.After(2*time.Second))
	const body, other = `{"kind":"summary","input":{"documents":[{"text":"A sound bridge."}]}}`, `{"kind":"summary","input":{"documents":[{"text":"Another bridge."}]}}`
	send := func(tenant, body string) (int, string) {
		return s.post("/v1/tasks", body, "Idempotency-Key", "order-17", "Authorization", "Bearer key-of-"+tenant)
	}
	ids := make([]string, 50)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			_, answer := send("one", body)
			var got task.Task
			if json.Unmarshal([]byte(answer), &got) == nil {
				ids[i] = got.ID
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
		require.NotEmpty(t, id)
	}
	refused := func() {
		status, answer := send("one", other)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Contains(t, answer, string(task.KeyReused))
	}
	refused()
	_, answer := send("two", other)
	require.NotEqual(t, ids[0], taskID(t, answer))
	for tenant, id := range map[string]string{"one": ids[0], "two": taskID(t, answer)} {
		c, err := client.New("http://"+s.address, "key-of-"+tenant)
		require.NoError(t, err)
		done, err := c.Watch(s.soon(), id, func(task.Task) {})
		require.NoError(t, err)
		require.Equal(t, task.Full, done.Outcome)
	}
	refused()
	require.Equal(t, 2, s.provider.Counts().Total)
}

// An idempotency key returns the same task after it succeeded, failed or was cancelled, for tasks and for replays. A new
// key, or a replay, starts a new task.
func TestIdempotencyKey_afterTheTaskEnded(t *testing.T) {
	s := newStack(t)
	s.provider.On("[doc-001]", unknownModel())
	s.provider.On("[doc-002]", llmtest.Reply{}.After(llmtest.Forever))
	order := func(i int) string {
		return fmt.Sprintf(`{"kind":"summary","input":{"documents":[{"text":"Report [doc-%03d]."}]}}`, i)
	}
	for i, want := range []task.State{task.Succeeded, task.Failed, task.Cancelled} {
		key := fmt.Sprintf("key-%d", i)
		id, replayed := s.sendKeyed("/v1/tasks", order(i), key)
		require.Empty(t, replayed)
		same, replayed := s.sendKeyed("/v1/tasks", order(i), key)
		require.Equal(t, []string{id, "true"}, []string{same, replayed}, "while the task runs")
		if want == task.Cancelled {
			require.NoError(t, s.provider.WaitFor(s.soon(), 3))
			_, err := s.client.Cancel(s.soon(), id)
			require.NoError(t, err)
		}
		require.Equal(t, want, s.finish(id).Status)
		same, replayed = s.sendKeyed("/v1/tasks", order(i), key)
		require.Equal(t, []string{id, "true"}, []string{same, replayed}, "after the task %s", want)

		again, _ := s.sendKeyed("/v1/tasks/"+id+"/replay", "", "again-"+key)
		require.NotEqual(t, id, again)
		if want == task.Cancelled {
			_, err := s.client.Cancel(s.soon(), again)
			require.NoError(t, err)
		}
		s.finish(again)
		same, replayed = s.sendKeyed("/v1/tasks/"+id+"/replay", "", "again-"+key)
		require.Equal(t, []string{again, "true"}, []string{same, replayed})
	}
	page, err := s.client.List(s.soon(), task.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Data, 6)
}

// sendKeyed posts with an idempotency key. It returns the task id and the Idempotency-Replayed header.
func (s *stack) sendKeyed(path, body, key string) (id, replayed string) {
	s.t.Helper()
	status, answer, header := s.exchange(http.MethodPost, path, body, "Idempotency-Key", key)
	require.Contains(s.t, []int{http.StatusOK, http.StatusAccepted}, status, answer)
	return taskID(s.t, answer), header.Get("Idempotency-Replayed")
}
