package config

import (
	"errors"
	"net/mail"
	"time"
)

// check limits the timeout so that an attempt ends within its activity.
func (n Notify) check() error {
	if n.Timeout > time.Minute {
		return errors.New("timeout: must be at most 1m, because an attempt occupies a slot of its worker")
	}
	return nil
}

// check checks that the mail server is complete.
func (s SMTP) check() error {
	_, err := mail.ParseAddress(s.From)
	switch {
	case s.Host == "" && (s.User != "" || s.From != "" || s.Password.isSet()):
		return errors.New("host: must be set with user, password or from")
	case s.Host == "":
		return nil
	case err != nil:
		return errors.New("from: must be a mail address, such as longhaul@example.com")
	case (s.User == "") != !s.Password.isSet():
		return errors.New("user and password: must be set together")
	case s.User != "" && s.TLS == "none" && !loopback(s.Host):
		return errors.New("tls: must be starttls or tls with a password, because none would send it unencrypted")
	}
	return nil
}
