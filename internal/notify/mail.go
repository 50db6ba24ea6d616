package notify

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"golang.org/x/time/rate"
)

// MailServer is where mails are handed over.
type MailServer struct {
	Host     string
	Port     int
	User     string
	Password string
	From     string // the mailbox that mails come from
	TLS      string // starttls, tls or none
	Timeout  time.Duration
	AMinute  int // the most mails a minute from this process
}

// Mailer sends mails. It is safe for concurrent use.
type Mailer struct {
	server MailServer
	rate   *rate.Limiter
}

// NewMailer makes a Mailer; it does not call the server.
func NewMailer(server MailServer) (*Mailer, error) {
	m := &Mailer{server: server, rate: rate.NewLimiter(rate.Limit(float64(server.AMinute)/60), max(server.AMinute/10, 1))}
	_, err := m.client()
	return m, err
}

func (m *Mailer) client() (*mail.Client, error) {
	options := []mail.Option{mail.WithPort(m.server.Port), mail.WithTimeout(m.server.Timeout)}
	switch m.server.TLS {
	case "tls":
		options = append(options, mail.WithSSL())
	case "none":
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if m.server.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.server.User), mail.WithPassword(m.server.Password))
	}
	return mail.NewClient(m.server.Host, options...)
}

// Mail is a plain text to one mailbox.
type Mail struct{ To, Subject, Text string }

// Busy reports whether so many mails went out lately that the next one has to wait. If not, it counts as one.
func (m *Mailer) Busy() bool { return !m.rate.Allow() }

// Send makes one attempt. The id goes into the Message-ID, so a mail that comes twice can be known for the same.
func (m *Mailer) Send(ctx context.Context, id string, what Mail) Answer {
	message := mail.NewMsg()
	if err := errors.Join(message.From(m.server.From), message.To(what.To)); err != nil {
		return refused("the mailbox, or the one that mails come from, is not a valid address")
	}
	domain := m.server.From[strings.LastIndex(m.server.From, "@")+1:]
	message.SetMessageIDWithValue(id + "@" + strings.TrimSuffix(domain, ">"))
	message.SetDate()
	message.SetUserAgent("longhaul")
	message.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office answers
	message.Subject(what.Subject)
	message.SetBodyString(mail.TypeTextPlain, what.Text)
	client, err := m.client()
	if err != nil {
		return refused("the mail server is not set up")
	}
	ctx, cancel := context.WithTimeout(ctx, m.server.Timeout)
	defer cancel()
	return mailed(ctx, client.DialAndSendWithContext(ctx, message))
}

// mailed says what an error of a mail server means. Its words may name machines of ours, so they are not repeated.
func mailed(ctx context.Context, err error) Answer {
	if err == nil {
		return Answer{Status: 250}
	}
	a := Answer{Err: errors.New("the mail server could not be reached, or broke off")}
	if told, ok := errors.AsType[*mail.SendError](err); ok && told.ErrorCode() >= 400 {
		a.Status, a.Final = told.ErrorCode(), !told.IsTemp()
	} else if told, ok := errors.AsType[*textproto.Error](err); ok { // while it was greeted
		a.Status = told.Code
	}
	switch {
	case a.Status > 0:
		a.Err = fmt.Errorf("the mail server answered %d", a.Status)
	case ctx.Err() != nil:
		a.Err, a.Slow = errors.New("the mail server did not answer in time"), true
	}
	return a
}
