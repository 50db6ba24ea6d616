package notifytest

import (
	"io"
	"net"
	"time"

	"github.com/emersion/go-smtp"

	"longhaul/internal/fakeserver"
)

// Letter is one mail that a mailbox got.
type Letter struct {
	At       time.Time
	From, To string
	Text     string // the whole message, with its headers
}

// Mailbox is a mail server at an address of this machine.
type Mailbox struct {
	server  *smtp.Server
	address *net.TCPAddr
	journal fakeserver.Journal[Letter, int] // the letters taken, and how many were offered
	refuse  func(n int) error
}

// NewMailbox starts a mail server. Refuse may turn away the nth mail, from 1, with an *smtp.SMTPError; nil takes all.
func NewMailbox(refuse func(n int) error) (*Mailbox, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Mailbox{refuse: refuse}
	m.address, _ = listener.Addr().(*net.TCPAddr)
	m.server = smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: m}, nil }))
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

// Port is where it listens, on 127.0.0.1.
func (m *Mailbox) Port() int { return m.address.Port }

// Close ends it.
func (m *Mailbox) Close() { _ = m.server.Close() }

// Letters are all mails so far.
func (m *Mailbox) Letters() []Letter { return m.journal.Calls() }

func (m *Mailbox) take(l Letter) error {
	m.journal.Mu.Lock()
	defer m.journal.Mu.Unlock()
	m.journal.Sum++
	if m.refuse != nil {
		if err := m.refuse(m.journal.Sum); err != nil {
			return err
		}
	}
	m.journal.Log = append(m.journal.Log, l)
	return nil
}

// session is one conversation with a sender.
type session struct {
	box    *Mailbox
	letter Letter
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.letter = Letter{From: from}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.letter.To = to
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.letter.At, s.letter.Text = time.Now(), string(text)
	return s.box.take(s.letter)
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// Refuse turns the first mails away with these codes, one each.
func Refuse(codes ...int) func(n int) error {
	return func(n int) error {
		if n > len(codes) {
			return nil
		}
		return &smtp.SMTPError{Code: codes[n-1], EnhancedCode: smtp.NoEnhancedCode, Message: "not now"}
	}
}
