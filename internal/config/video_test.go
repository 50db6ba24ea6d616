package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"longhaul/internal/config"
)

func TestVideo(t *testing.T) {
	t.Parallel()
	const at = "LONGHAUL_VIDEO_BASE_URL=https://ark.example.com/api/v3/"
	tests := map[string]struct {
		env  []string
		want string // part of the error; "" means no error
	}{
		"nothing":                {nil, ""},
		"a provider":             {[]string{at, "LONGHAUL_VIDEO_MODEL=m", "KEY_OF_MINE=k", "LONGHAUL_VIDEO_KEY_ENV=KEY_OF_MINE", "LONGHAUL_VIDEO_PRICE_PER_SECOND=0.05"}, ""},
		"no model":               {[]string{at}, "video: model: must be set with base_url"},
		"a key without base_url": {[]string{"LONGHAUL_VIDEO_KEY=k"}, "video: base_url: must be set with a key"},
		"an unset key variable":  {[]string{at, "LONGHAUL_VIDEO_MODEL=m", "LONGHAUL_VIDEO_KEY_ENV=KEY_OF_MINE"}, "the variable KEY_OF_MINE is not set"},
		"no address":             {[]string{"LONGHAUL_VIDEO_BASE_URL=ark"}, "video: base_url: must be an http"},
		"no price":               {[]string{"LONGHAUL_VIDEO_PRICE_PER_JOB=cheap"}, `"cheap" is not an amount of money`},
		"a price below":          {[]string{"LONGHAUL_VIDEO_PRICE_PER_JOB=-1"}, "is not an amount of money"},
		"not a number":           {[]string{"LONGHAUL_VIDEO_PRICE_PER_JOB=NaN"}, "is not an amount of money"},
		"no public address":      {[]string{"LONGHAUL_API_PUBLIC_URL=me"}, "api.public_url: must be an http"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Load(config.Source{Dir: t.TempDir(), Env: test.env})
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, len(test.env) == 0, cfg.Video.Simulated())
			if !cfg.Video.Simulated() {
				require.Equal(t, "https://ark.example.com/api/v3", cfg.Video.BaseURL)
				require.Equal(t, "ark.example.com", cfg.Video.Provider)
				require.Equal(t, "k", cfg.Video.Key.Reveal())
				require.InDelta(t, 0.05, cfg.Video.PricePerSecond, 0)
			}
		})
	}
}
