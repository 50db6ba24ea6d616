package config

import (
	"errors"
	"net/mail"
	"time"
)

// check makes sure that an attempt ends while its activity still runs.
func (n Notify) check() error {
	if n.Timeout > time.Minute {
		return errors.New("timeout: at most a minute, since an attempt holds one of the places of a worker")
	}
	return nil
}

// check makes sure that mails can be sent, if they are to be.
func (s SMTP) check() error {
	_, err := mail.ParseAddress(s.From)
	switch {
	case s.Host == "" && (s.User != "" || s.From != "" || s.Password.IsSet()):
		return errors.New("host: must be set with user, password or from")
	case s.Host == "":
		return nil
	case err != nil:
		return errors.New("from: must be one mailbox, such as longhaul@example.com")
	case (s.User == "") != !s.Password.IsSet():
		return errors.New("user and password: must be set together")
	case s.User != "" && s.TLS == "none" && !loopback(s.Host):
		return errors.New("tls: a password must not travel unencrypted; choose starttls or tls")
	}
	return nil
}
