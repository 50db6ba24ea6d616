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

// complete derives values that are not set. OPENAI_API_KEY and OPENAI_BASE_URL apply only if neither key nor base_url
// is set, so that a key is never sent to an address for which it was not meant.
func (c *Config) complete(env map[string]string) {
	llm := &c.LLM
	if llm.BaseURL == "" && !llm.Key.isSet() {
		llm.BaseURL, llm.Key = env["OPENAI_BASE_URL"], NewSecret(env["OPENAI_API_KEY"])
	}
	if llm.BaseURL == "" && llm.Key.isSet() {
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

// nameOf returns the configured name of a provider, or else its host.
func nameOf(name, address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "simulated"
	case name != "" || err != nil:
		return name
	default:
		return u.Host
	}
}

// mistakes checks rules that concern several fields or the form of a field.
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

// checkListen refuses to listen for other machines without keys.
func (a API) checkListen() error {
	host, _, err := net.SplitHostPort(a.Listen)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port; write it like 127.0.0.1:8080", a.Listen)
	}
	if len(a.Keys) == 0 && !loopback(host) {
		return fmt.Errorf("%s is reachable from other machines, but api.keys is empty: set LONGHAUL_API_KEYS=tenant:key, or listen on 127.0.0.1", a.Listen)
	}
	return nil
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// checkProviders checks that each provider has a unique name, an address and its key.
func (l LLM) checkProviders() error {
	taken := map[string]bool{l.Provider: true}
	return each(l.Providers, func(p Provider) error {
		defer func() { taken[p.Name] = true }()
		switch {
		case !providerName.MatchString(p.Name):
			return errors.New("name: must have 1 to 40 lower-case letters, digits, dots, dashes or underscores")
		case taken[p.Name]:
			return fmt.Errorf("name: %s is already used", p.Name)
		case p.BaseURL == "":
			return errors.New("base_url: must be set")
		case checkWeb(p.BaseURL) != nil:
			return fmt.Errorf("base_url: %w", checkWeb(p.BaseURL))
		case p.KeyEnv != "" && !p.Key.isSet():
			return fmt.Errorf("key_env: the variable %s is not set", p.KeyEnv)
		}
		return checkModels(p.Models)
	})
}

// each checks the entries of a list and prefixes errors with the number of the entry.
func each[T any](list []T, check func(T) error) error {
	var all []error
	for i, one := range list {
		if err := check(one); err != nil {
			all = append(all, fmt.Errorf("entry %d: %w", i+1, err))
		}
	}
	return errors.Join(all...)
}

// check checks that the video provider is complete.
func (v Video) check() error {
	switch {
	case checkWeb(v.BaseURL) != nil:
		return fmt.Errorf("base_url: %w", checkWeb(v.BaseURL))
	case v.Simulated() && v.Key.isSet():
		return errors.New("base_url: must be set with a key")
	case !v.Simulated() && v.Model == "":
		return errors.New("model: must be set with base_url")
	case v.KeyEnv != "" && !v.Key.isSet():
		return fmt.Errorf("key_env: the variable %s is not set", v.KeyEnv)
	}
	return nil
}

// checkFirst refuses settings of a first provider without base_url.
func (l LLM) checkFirst() error {
	if l.BaseURL == "" && len(l.Providers) > 0 && (len(l.Models) > 0 || l.RequestsPerMinute > 0 || l.TokensPerMinute > 0) {
		return errors.New("models, requests_per_minute and tokens_per_minute need base_url; set it, or set them under providers")
	}
	return nil
}

func checkModels(models []Model) error {
	for i, m := range models {
		if m.Name == "" {
			return fmt.Errorf("models entry %d: name: must be set", i+1)
		}
		if slices.ContainsFunc(models[:i], func(n Model) bool { return n.Name == m.Name }) {
			return fmt.Errorf("models entry %d: name: %s is already used", i+1, m.Name)
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

// checkDeployment requires deployment and build_id together.
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

// checkWeb refuses addresses with a password and does not show them, because addresses are logged.
func checkWeb(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be an http or https address")
	case u.User != nil:
		return errors.New("must not contain a user or a password")
	}
	return nil
}

func checkBucket(address string) error {
	if address == "" {
		return nil
	}
	if u, err := url.Parse(address); err != nil || u.Scheme == "" {
		return errors.New("must be the URL of a bucket, such as s3://name?region=eu-west-1 or file:///folder")
	}
	return nil
}

// resolve makes paths absolute, so that child processes use the same paths.
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
