package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	openAIURL    = "https://api.openai.com/v1"
	defaultModel = "gpt-5-mini"
)

// complete derives what was left open. OpenAI's own two variables count only when nothing was said
// about the provider, so that a key never goes to an address it was not meant for.
func (c *Config) complete(env map[string]string) {
	llm := &c.LLM
	if llm.BaseURL == "" && !llm.Key.IsSet() {
		llm.BaseURL, llm.Key = env["OPENAI_BASE_URL"], NewSecret(env["OPENAI_API_KEY"])
	}
	if llm.BaseURL == "" && llm.Key.IsSet() {
		llm.BaseURL = openAIURL
	}
	llm.BaseURL = strings.TrimRight(llm.BaseURL, "/")
	if llm.Model == "" {
		llm.Model = defaultModel
	}
	llm.Provider = nameOf(llm.Provider, llm.BaseURL)
	for i := range llm.Providers {
		p := &llm.Providers[i]
		p.BaseURL, p.Key = strings.TrimRight(p.BaseURL, "/"), p.Key.orFrom(env, p.KeyEnv)
	}
	v := &c.Video
	v.BaseURL, v.Key = strings.TrimRight(v.BaseURL, "/"), v.Key.orFrom(env, v.KeyEnv)
	v.Provider = nameOf(v.Provider, v.BaseURL)
	for i := range c.Tools.Secrets {
		s := &c.Tools.Secrets[i]
		s.Value = s.Value.orFrom(env, s.Env)
	}
}

// nameOf is what a provider is called: as it was told, or else by its host.
func nameOf(told, address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "simulated"
	case told != "" || err != nil:
		return told
	default:
		return u.Host
	}
}

// mistakes checks what no field can know alone.
func (c *Config) mistakes() []error {
	var all []error
	for _, rule := range []struct {
		key string
		err error
	}{
		{"data_dir", checkSet(c.DataDir)},
		{"bucket_url", checkBucket(c.BucketURL)},
		{"temporal_ui_url", checkWeb(c.TemporalUIURL)},
		{"api.public_url", checkWeb(c.API.PublicURL)},
		{"api.listen", c.API.checkListen()},
		{"api.keys", c.API.checkKeys()},
		{"worker.listen", checkAddress(c.Worker.Listen)},
		{"worker", c.Worker.checkDeployment()},
		{"llm.base_url", checkWeb(c.LLM.BaseURL)},
		{"llm", c.LLM.checkFirst()},
		{"llm.models", checkModels(c.LLM.Models)},
		{"llm.providers", c.LLM.checkProviders()},
		{"tools.http", c.Tools.checkHTTP()},
		{"tools.mcp", c.Tools.checkMCP()},
		{"tools.secrets", c.Tools.checkSecrets()},
		{"video", c.Video.check()},
		{"notify", c.Notify.check()},
		{"smtp", c.SMTP.check()},
	} {
		if rule.err != nil {
			all = append(all, fmt.Errorf("%s: %w", rule.key, rule.err))
		}
	}
	return all
}

func checkSet(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkListen refuses to serve other machines without a login.
func (a API) checkListen() error {
	host, _, err := net.SplitHostPort(a.Listen)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port; write it like 127.0.0.1:8080", a.Listen)
	}
	if len(a.Keys) == 0 && !loopback(host) {
		return fmt.Errorf("%s can be reached from other machines and there are no api.keys: set LONGHAUL_API_KEYS=tenant:key, or listen on 127.0.0.1", a.Listen)
	}
	return nil
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// checkProviders makes sure that every provider can be told from the others, and asked.
func (l LLM) checkProviders() error {
	taken := map[string]bool{l.Provider: true}
	return each(l.Providers, func(p Provider) error {
		defer func() { taken[p.Name] = true }()
		switch {
		case !providerName.MatchString(p.Name):
			return errors.New("name: 1 to 40 lower-case letters, digits, dots, dashes or underscores")
		case taken[p.Name]:
			return fmt.Errorf("name: %s is taken", p.Name)
		case p.BaseURL == "":
			return errors.New("base_url: must be set")
		case checkWeb(p.BaseURL) != nil:
			return fmt.Errorf("base_url: %w", checkWeb(p.BaseURL))
		case p.KeyEnv != "" && !p.Key.IsSet():
			return fmt.Errorf("key_env: the variable %s is not set", p.KeyEnv)
		}
		return checkModels(p.Models)
	})
}

// each checks the sections of a list, and says which of them a mistake is in.
func each[T any](list []T, check func(T) error) error {
	var all []error
	for i, one := range list {
		if err := check(one); err != nil {
			all = append(all, fmt.Errorf("number %d: %w", i+1, err))
		}
	}
	return errors.Join(all...)
}

// check makes sure that the provider of videos can be asked.
func (v Video) check() error {
	switch {
	case checkWeb(v.BaseURL) != nil:
		return fmt.Errorf("base_url: %w", checkWeb(v.BaseURL))
	case v.Simulated() && v.Key.IsSet():
		return errors.New("base_url: must be set with a key")
	case !v.Simulated() && v.Model == "":
		return errors.New("model: must be set with base_url")
	case v.KeyEnv != "" && !v.Key.IsSet():
		return fmt.Errorf("key_env: the variable %s is not set", v.KeyEnv)
	}
	return nil
}

// checkFirst refuses settings of a first provider that there is not.
func (l LLM) checkFirst() error {
	if l.BaseURL == "" && len(l.Providers) > 0 && (len(l.Models) > 0 || l.RequestsPerMinute > 0 || l.TokensPerMinute > 0) {
		return errors.New("models, requests_per_minute and tokens_per_minute are those of the provider at base_url, and there is none: set them under providers")
	}
	return nil
}

func checkModels(models []Model) error {
	for i, m := range models {
		if m.Name == "" {
			return fmt.Errorf("model number %d: name: must be set", i+1)
		}
		if slices.ContainsFunc(models[:i], func(n Model) bool { return n.Name == m.Name }) {
			return fmt.Errorf("model number %d: name: %s is taken", i+1, m.Name)
		}
	}
	return nil
}

func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		return fmt.Errorf("%q is not an address with a port; write it like 127.0.0.1:8081", address)
	}
	return nil
}

// checkDeployment: a version is of something, and something has a version.
func (w Worker) checkDeployment() error {
	if (w.Deployment == "") != (w.BuildID == "") {
		return errors.New("deployment and build_id: set both, or neither")
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (a API) checkKeys() error {
	owner := map[string]string{}
	for _, k := range a.Keys {
		if other, taken := owner[k.Key.Reveal()]; taken {
			return fmt.Errorf("tenants %s and %s have the same key", other, k.Tenant)
		}
		owner[k.Key.Reveal()] = k.Tenant
	}
	return nil
}

// checkWeb refuses an address with a password in it, and does not show it: such addresses are logged.
func checkWeb(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("not an http or https address")
	case u.User != nil:
		return errors.New("the address must not hold a user or a password")
	}
	return nil
}

func checkBucket(address string) error {
	if address == "" {
		return nil
	}
	if u, err := url.Parse(address); err != nil || u.Scheme == "" {
		return errors.New("not a bucket; write it like s3://name?region=eu-west-1 or file:///folder")
	}
	return nil
}

// resolve makes paths absolute, so that they mean the same to child processes.
func (c *Config) resolve(dir string) error {
	if !filepath.IsAbs(c.DataDir) {
		c.DataDir = filepath.Join(dir, c.DataDir)
	}
	full, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	c.DataDir = full
	if c.BucketURL == "" {
		c.BucketURL = (&url.URL{Scheme: "file", Path: filepath.Join(full, "bucket")}).String()
	}
	return nil
}
