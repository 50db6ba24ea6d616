package server

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"longhaul/internal/task"
)

// slowBody gives a byte a read, and then what a connection gives whose deadline has passed.
type slowBody struct{ left int }

func (s *slowBody) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	s.left--
	p[0] = 'x'
	return 1, nil
}

func TestIntake_asksForAPace(t *testing.T) {
	t.Parallel()
	var deadline time.Time
	began := time.Now()
	in := &intake{body: &slowBody{left: 3}, began: began, deadline: func(d time.Time) error { deadline = d; return nil }}
	_, err := io.ReadAll(in)
	require.Equal(t, task.TooSlow, task.AsError(err).Code)
	require.Equal(t, began.Add(bodyGrace), deadline, "a byte at a time earns no time")

	in = &intake{body: io.LimitReader(&slowBody{left: 10 * bytesASecond}, 10*bytesASecond), began: began, deadline: func(d time.Time) error { deadline = d; return nil }}
	_, err = io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, began.Add(bodyGrace+10*time.Second), deadline, "bytes earn time")
	in.done()
	require.True(t, deadline.IsZero(), "a deadline left behind would end the answer")

	in = &intake{body: &slowBody{}, began: began, deadline: func(d time.Time) error { deadline = d; return nil }}
	_, err = io.ReadAll(in)
	require.Error(t, err)
	in.done()
	require.False(t, deadline.IsZero(), "the rest of a body that broke off is not waited for")
}
