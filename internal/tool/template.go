package tool

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

var placeholder = regexp.MustCompile(`\{([A-Za-z0-9_-]{1,64})\}`)

// template is the address of an HTTP tool, with places for arguments in its path and its query alone.
type template struct {
	origin string // scheme and host, as in https://api.example:8443
	path   string // from its first slash
	query  string // without the question mark
}

func parseTemplate(text string) (template, error) {
	plain := placeholder.ReplaceAllString(text, "x")
	u, err := url.Parse(plain)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return template{}, errors.New("is not an http or https address")
	case u.User != nil:
		return template{}, errors.New("must not hold a user or a password; send them in a header")
	case strings.Contains(text, "#"):
		return template{}, errors.New("must not have a fragment; leave out the # and what follows")
	case strings.ContainsAny(plain, "{}"):
		return template{}, errors.New("has a brace that belongs to no {name}; secrets go into headers")
	}
	_, rest, _ := strings.Cut(text, "://")
	host, rest := rest[:end(rest)], rest[end(rest):]
	if strings.ContainsAny(host, "{}") {
		return template{}, errors.New("has an argument in its host; arguments go into the path and the query")
	}
	path, query, _ := strings.Cut(rest, "?")
	if path == "" {
		path = "/"
	}
	return template{origin: u.Scheme + "://" + u.Host, path: path, query: query}, nil
}

// end is where the host of an address ends, whose scheme was cut off.
func end(address string) int {
	if i := strings.IndexAny(address, "/?"); i >= 0 {
		return i
	}
	return len(address)
}

// places are the names of the arguments that have a place in the address.
func (t template) places() []string {
	var names []string
	for _, found := range placeholder.FindAllStringSubmatch(t.path+"?"+t.query, -1) {
		names = append(names, found[1])
	}
	return names
}

// fill puts arguments into their places, and takes them out of args. What it gives has the scheme, the host and the
// number of path segments of the template, whatever the arguments are.
func (t template) fill(args map[string]json.RawMessage) (*url.URL, error) {
	segments := strings.Split(t.path, "/")
	for i, segment := range segments {
		filled, err := put(segment, args, true)
		if err != nil {
			return nil, err
		}
		if filled != segment && climbs(filled) {
			return nil, failed("An argument would lead to another path than %s; it must not have . or .. as a part of a path.", t.path)
		}
		segments[i] = filled
	}
	query, err := put(t.query, args, false)
	if err != nil {
		return nil, err
	}
	for _, name := range t.places() {
		delete(args, name)
	}
	address := t.origin + strings.Join(segments, "/")
	if query != "" {
		address += "?" + query
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host != t.origin || u.User != nil || u.Fragment != "" ||
		strings.Count(u.EscapedPath(), "/") != strings.Count(t.path, "/") {
		return nil, failed("The arguments make no address of the form %s.", t.origin+t.path)
	}
	return u, nil
}

// put replaces the places in a piece of an address. In a path every one must be filled: without an id, the
// address of one thing would become the address of all.
func put(piece string, args map[string]json.RawMessage, must bool) (string, error) {
	var wrong error
	filled := placeholder.ReplaceAllStringFunc(piece, func(place string) string {
		name := strings.Trim(place, "{}")
		text, ok := scalar(args[name])
		switch {
		case !ok:
			wrong = failed("The argument %s goes into the address: it must be a text, a number, true or false.", name)
		case text == "" && must:
			wrong = failed("The argument %s goes into the path of the address: it must not be empty or missing.", name)
		}
		return escape(text)
	})
	return filled, wrong
}

// escape keeps nothing but letters, digits and -._~ as they are, so it fits into a path and a query alike.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// scalar is a JSON value as it is written in an address; null is as nothing. It is false for objects and arrays.
func scalar(raw json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(raw))
	switch {
	case text == "" || text == "null":
		return "", true
	case text[0] == '"':
		var unquoted string
		err := json.Unmarshal(raw, &unquoted)
		return unquoted, err == nil
	case text[0] == '{' || text[0] == '[':
		return "", false
	}
	return text, true
}

// climbs reports whether a segment means another folder, to whoever reads it: decoded once or more often, with either
// slash, with parameters behind a semicolon.
func climbs(segment string) bool {
	for range 4 {
		for _, part := range strings.FieldsFunc(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
			name, _, _ := strings.Cut(part, ";")
			if name == "." || name == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(segment)
		if err != nil || decoded == segment {
			return false
		}
		segment = decoded
	}
	return false
}
