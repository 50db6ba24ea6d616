package spell

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Looks a minute apart, and a clock that is set in between.
func TestSpell(t *testing.T) {
	t.Parallel()
	const most = 5 * time.Minute
	for name, test := range map[string]struct {
		set  time.Duration
		want time.Duration
	}{
		"true":            {0, 2 * time.Minute},
		"an hour forward": {time.Hour, time.Minute + most},
		"an hour back":    {-time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Spell
			now := time.Now().Round(0) // as it comes back from a record
			require.False(t, s.Begun())
			require.Zero(t, s.Look(now, most))
			require.Equal(t, time.Minute, s.Look(now.Add(time.Minute), most))
			stored, err := json.Marshal(s)
			require.NoError(t, err)
			s = Spell{}
			require.NoError(t, json.Unmarshal(stored, &s))
			require.Equal(t, test.want, s.Look(now.Add(2*time.Minute+test.set), most))
			require.Equal(t, test.want+time.Minute, s.Look(now.Add(3*time.Minute+test.set), most), "and goes on from there")
		})
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.Equal(t, time.Hour, Since(now.Add(-time.Hour), now).Lasted)
	require.Zero(t, Since(now.Add(time.Hour), now).Lasted)
	require.True(t, Since(now, now).Begun())
}
