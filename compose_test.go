package longhaul_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"longhaul/internal/config"
	"longhaul/internal/storage"
)

// docker-compose.yml agrees with the code. The test parses the file, because not every machine can run it.
func TestCompose(t *testing.T) {
	project := compose(t)
	for _, name := range []string{"api", "worker"} {
		t.Run(name+" accepts its settings", func(t *testing.T) {
			cfg := loadService(t, project.Services[name])
			require.True(t, cfg.LLM.Simulated(), "with no key in the environment")

			bucket, err := storage.Open(t.Context(), cfg.BucketURL)
			require.NoError(t, err, "every parameter of the bucket URL is known")
			require.NoError(t, bucket.Close())
		})
	}
	t.Run("the worker can finish its calls before it is killed", func(t *testing.T) {
		worker := project.Services["worker"]
		require.NotNil(t, worker.StopGracePeriod)
		require.Greater(t, time.Duration(*worker.StopGracePeriod), loadService(t, worker).Worker.StopTimeout)
	})
	t.Run("ports are open on this machine only", func(t *testing.T) {
		for name, service := range project.Services {
			for _, port := range service.Ports {
				require.Equal(t, "127.0.0.1", port.HostIP, name)
			}
		}
	})
}

func TestCompose_startsInOrder(t *testing.T) {
	project := compose(t)
	once := map[string]bool{} // services that run to completion
	for name, service := range project.Services {
		for dependency, how := range service.DependsOn {
			require.NotEqual(t, types.ServiceConditionStarted, how.Condition, "%s must wait until %s is healthy or done", name, dependency)
			once[dependency] = once[dependency] || how.Condition == types.ServiceConditionCompletedSuccessfully
		}
	}
	for name, service := range project.Services {
		if service.Build == nil {
			require.Regexp(t, pinned, service.Image, name)
		}
		if !once[name] {
			require.NotNil(t, service.HealthCheck, "%s has no health check", name)
			require.NotEmpty(t, service.HealthCheck.Test, name)
		}
	}
}

// pinned matches an image whose tag is a full version.
var pinned = regexp.MustCompile(`^[a-z0-9/.-]+:(v?\d+\.\d+\.\d+|\d+\.\d+-|RELEASE\.\d{4}-)`)

func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	var user string
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		seen[words[0]] = true
		switch words[0] {
		case "FROM":
			require.Regexp(t, pinned, words[1])
		case "USER":
			user = words[1]
		}
	}
	require.NotEmpty(t, user)
	require.NotContains(t, []string{"root", "0", "0:0"}, user)
	require.True(t, seen["HEALTHCHECK"])
}

func compose(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"docker-compose.yml"}, cli.WithInterpolation(true), cli.WithResolvedPaths(true))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, project.Services)
	return project
}

// loadService loads the configuration from a service's environment. It first checks that each setting exists, because the
// code ignores unknown environment variables.
func loadService(t *testing.T, service types.ServiceConfig) config.Config {
	t.Helper()
	example, err := os.ReadFile(".env.example")
	require.NoError(t, err)
	var env []string
	for name, value := range service.Environment {
		if strings.HasPrefix(name, "LONGHAUL_") || strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "OPENAI_") {
			require.True(t, strings.Contains(string(example), "\n#"+name+"="), "%s: there is no setting %s", service.Name, name)
		}
		require.NotNil(t, value, name)
		env = append(env, name+"="+*value)
		if strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, *value)
		}
	}
	cfg, err := config.Load(config.Source{Env: env, Dir: t.TempDir()})
	require.NoError(t, err)
	return cfg
}
