package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
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
	if llm.Provider == "" {
		llm.Provider = hostOf(llm.BaseURL)
	}
	if llm.Simulated() {
		llm.Provider = "simulated"
	}
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return ""
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
		{"api.listen", c.API.checkListen()},
		{"api.keys", c.API.checkKeys()},
		{"worker.listen", checkAddress(c.Worker.Listen)},
		{"llm.base_url", checkWeb(c.LLM.BaseURL)},
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

func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
		return fmt.Errorf("%q is not an address with a port; write it like 127.0.0.1:8081", address)
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
