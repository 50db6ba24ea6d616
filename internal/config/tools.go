package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Rules for tools. Addresses of HTTP tools are checked in internal/tool, which parses them.

var (
	toolName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)
)

func (t Tools) checkHTTP() error {
	taken := map[string]bool{}
	return each(t.HTTP, func(h HTTPTool) error {
		defer func() { taken[h.Name] = true }()
		switch {
		case !toolName.MatchString(h.Name):
			return errors.New("name: must have 1 to 64 letters, digits, dashes or underscores")
		case taken[h.Name]:
			return fmt.Errorf("name: %s is already used", h.Name)
		case h.Description == "":
			return errors.New("description: must be set, because the model chooses tools by it")
		case h.URL == "":
			return errors.New("url: must be set")
		}
		return nil
	})
}

func (t Tools) checkMCP() error {
	taken := map[string]bool{}
	return each(t.MCP, func(s MCPServer) error {
		defer func() { taken[s.Name] = true }()
		switch {
		case !serverName.MatchString(s.Name):
			return errors.New("name: must have 1 to 32 letters, digits or dashes")
		case taken[s.Name]:
			return fmt.Errorf("name: %s is already used", s.Name)
		case (s.Command == "") == (s.URL == ""):
			return errors.New("must have either command or url")
		case s.Command == "" && len(s.Args)+len(s.Env) > 0:
			return errors.New("args and env need command")
		case s.URL == "" && len(s.Headers) > 0:
			return errors.New("headers need url")
		}
		if err := checkWeb(s.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
		return nil
	})
}

func (t Tools) checkSecrets() error {
	const shortest = 8 // shorter secrets would match ordinary words when they are removed from answers
	taken := map[string]bool{}
	return each(t.Secrets, func(s ToolSecret) error {
		defer func() { taken[s.Name] = true }()
		switch value := s.Value.Reveal(); {
		case !toolName.MatchString(s.Name):
			return errors.New("name: must have 1 to 64 letters, digits, dashes or underscores")
		case taken[s.Name]:
			return fmt.Errorf("name: %s is already used", s.Name)
		case value == "" && s.Env != "":
			return fmt.Errorf("env: the variable %s is not set", s.Env)
		case len(value) < shortest || strings.ContainsAny(value, "\r\n"):
			return fmt.Errorf("value: must be one line of at least %d characters", shortest)
		case len(s.Hosts) == 0:
			return errors.New("hosts: must list the hosts that may receive the secret")
		}
		return nil
	})
}
