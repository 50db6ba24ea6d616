package tool

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"longhaul/internal/guard"
	"longhaul/internal/task"
)

// Secret is a text that headers may refer to, and only by its name.
type Secret struct {
	Name    string
	Value   func() string // a function, so that a log of the options does not show it
	Hosts   []string      // host or host:port, the only ones that it is sent to
	Tenants []string      // whose calls may use it; none means everybody's
}

// vault has the secrets.
type vault struct {
	all   []Secret
	guard guard.Dialer
}

var reference = regexp.MustCompile(`\{\{\s*secret:([^{}\s]+)\s*\}\}`)

// references are the secrets that a header refers to.
func references(headers map[string]string) []string {
	var names []string
	for _, value := range headers {
		for _, found := range reference.FindAllStringSubmatch(value, -1) {
			names = append(names, found[1])
		}
	}
	return names
}

// allow says why a secret may not be sent to an address; nil when it may, as far as tenants do not matter.
func (v vault) allow(name string, to *url.URL) (Secret, error) {
	for _, s := range v.all {
		if s.Name != name {
			continue
		}
		if !slices.ContainsFunc(s.Hosts, func(host string) bool {
			return strings.EqualFold(host, to.Host) || strings.EqualFold(host, to.Hostname())
		}) {
			break
		}
		if to.Scheme != "https" && !v.guard.Names(hostPort(to)) {
			return s, fmt.Errorf("the secret %q is sent over https alone; use an https address", name)
		}
		return s, nil
	}
	// That there is one for other hosts is nobody's business.
	return Secret{}, fmt.Errorf("there is no secret %q for %s; ask the operator", name, to.Host)
}

// check makes sure that all secrets which headers refer to may be sent to an address.
func (v vault) check(headers map[string]string, to *url.URL) error {
	for _, name := range slices.Sorted(slices.Values(references(headers))) {
		if _, err := v.allow(name, to); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if strings.Contains(reference.ReplaceAllString(headers[name], ""), "{{") {
			return fmt.Errorf("header %s: {{ begins no secret; write it like {{secret:NAME}}", name)
		}
	}
	return nil
}

// serves says why headers may not be sent on behalf of a tenant; nil when they may, as far as addresses do not matter.
func (v vault) serves(headers map[string]string, tenant string) error {
	names := references(headers)
	for _, s := range v.all {
		if slices.Contains(names, s.Name) && len(s.Tenants) > 0 && !slices.Contains(s.Tenants, tenant) {
			return fmt.Errorf("the secret %q is not for this tenant; ask the operator", s.Name)
		}
	}
	return nil
}

// fill puts the secrets into headers that go to an address.
func (v vault) fill(headers map[string]string, to *url.URL) (map[string]string, error) {
	filled := make(map[string]string, len(headers))
	var wrong []error
	for name, value := range headers {
		filled[name] = reference.ReplaceAllStringFunc(value, func(place string) string {
			secret, err := v.allow(reference.FindStringSubmatch(place)[1], to)
			if err != nil {
				wrong = append(wrong, err)
				return ""
			}
			return secret.Value()
		})
	}
	return filled, errors.Join(wrong...)
}

// scrub takes every secret out of a text, plain or as it looks in an address, in JSON or in a Basic header.
func (v vault) scrub(text string) string {
	for _, form := range v.forms() {
		text = strings.ReplaceAll(text, form, "[secret]")
	}
	return text
}

// forms are all that secrets may look like, the longest first: one may be the beginning of another.
func (v vault) forms() []string {
	var all []string
	for _, secret := range v.all {
		value := secret.Value()
		if value == "" {
			continue
		}
		all = append(all, value, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)))
		if quoted, err := json.Marshal(value); err == nil {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// longest is the length of the longest form of a secret, in bytes.
func (v vault) longest() int {
	if all := v.forms(); len(all) > 0 {
		return len(all[0])
	}
	return 0
}

// scrubError makes an error whose text, and that of its causes, has no secret.
func (v vault) scrubError(err error) error {
	cause := errors.New(v.scrub(err.Error()))
	if e, ok := errors.AsType[*task.Error](err); ok {
		clean := task.Errorf(e.Code, "%s", v.scrub(e.Detail)).Because(cause)
		clean.Retryable = e.Retryable
		return clean
	}
	return cause
}

// hostPort is where a connection to an address goes.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	} else if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
