package tool

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"longhaul/internal/document"
)

// transport makes connections as they are made for documents, but of any number to a host: a call that waits for one
// of another would use up its time.
func (k *Kit) transport() *http.Transport {
	t := document.Guarded(k.options.AllowPrivate)
	t.MaxConnsPerHost = 0
	return t
}

// reason says in a few words why a connection failed, without the address.
func reason(err error) string {
	var slow net.Error
	switch {
	case is[*net.DNSError](err):
		return "its name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case is[*tls.CertificateVerificationError](err):
		return "its certificate is not valid"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "it did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was lost"
	}
	return "the connection failed"
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// bare takes off the wrapping that repeats the whole address.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
