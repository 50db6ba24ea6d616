package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is text that cannot be printed, logged or marshalled by accident: all of these write
// a mask. The zero value is an unset secret.
type Secret struct{ text string }

// NewSecret keeps text.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal gives the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// IsSet reports whether there is a text.
func (s Secret) IsSet() bool { return s.text != "" }

// orFrom is the secret itself, or else what a variable holds; no name is no variable.
func (s Secret) orFrom(env map[string]string, variable string) Secret {
	if s.IsSet() || variable == "" {
		return s
	}
	return NewSecret(env[variable])
}

// String is the mask; "" when unset.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return "[secret]"
}

// Format writes the mask for every verb, %#v included.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, s.String()) }

// MarshalText is the mask, for JSON, YAML and all that follow it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
