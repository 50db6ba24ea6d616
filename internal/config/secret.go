package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that is masked when printed, logged or marshalled. The zero value is an unset secret.
type Secret struct{ text string }

// NewSecret returns a secret.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// isSet reports whether the secret has a text.
func (s Secret) isSet() bool { return s.text != "" }

// orFrom returns the secret, or else the value of an environment variable; an empty name means none.
func (s Secret) orFrom(env map[string]string, variable string) Secret {
	if s.isSet() || variable == "" {
		return s
	}
	return NewSecret(env[variable])
}

// String returns the mask; "" if unset.
func (s Secret) String() string {
	if !s.isSet() {
		return ""
	}
	return "[secret]"
}

// Format writes the mask for every verb, including %#v.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, s.String()) }

// MarshalText returns the mask, for JSON, YAML and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
