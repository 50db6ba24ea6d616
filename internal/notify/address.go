package notify

import (
	"errors"
	"net/mail"
	"net/url"
	"strings"
)

// longestURL bounds an address, in bytes.
const longestURL = 2048

// CheckURL refuses what no webhook can be sent to. Whether the address is a public one is seen when it is dialled.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > longestURL:
		return errors.New("has more than 2048 bytes")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("must be an http or https address")
	case u.User != nil:
		return errors.New("must not hold a user or a password; messages are signed, so the receiver knows whom they are from")
	case u.Fragment != "":
		return errors.New("must not have a fragment; it would not be sent")
	}
	return nil
}

// CheckMailbox refuses what is not one plain mailbox, such as ops@example.com.
func CheckMailbox(mailbox string) error {
	parsed, err := mail.ParseAddress(mailbox)
	if err != nil || parsed.Address != mailbox || len(mailbox) > 254 {
		return errors.New("must be one mailbox, such as ops@example.com")
	}
	return nil
}

// mailScheme is how the address of a mailbox begins.
const mailScheme = "mailto:"

// Mailto is the address of a mailbox.
func Mailto(mailbox string) string { return mailScheme + mailbox }

// Mailbox gives the mailbox of an address, if it is that of one.
func Mailbox(address string) (string, bool) { return strings.CutPrefix(address, mailScheme) }

// Masked is an address as it may be shown: queries often are secrets.
func Masked(address string) string {
	if _, ok := Mailbox(address); ok {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "[unreadable]"
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.RawQuery != "" {
		shown.RawQuery = "..."
	}
	return shown.String()
}

// Receiver is who an address belongs to: its host. What is sent to one receiver must not wait for another.
func Receiver(address string) string {
	if mailbox, ok := Mailbox(address); ok {
		return mailbox
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
