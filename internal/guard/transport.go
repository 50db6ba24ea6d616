package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// Transport dials public addresses on ports 80 and 443, and what is allowed besides: host:port, host (any port), or
// CIDR. It uses no proxy, which would dial for us, unguarded.
func Transport(allowPrivate []string) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            NewDialer(allowPrivate).Dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxConnsPerHost:        16,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Reason says in a few words why a connection failed, without the address.
func Reason(err error) string {
	var slow net.Error
	switch {
	case is[*net.DNSError](err):
		return "its name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case is[*tls.CertificateVerificationError](err), is[tls.RecordHeaderError](err), is[tls.AlertError](err), errors.Is(err, http.ErrSchemeMismatch):
		return "its certificate, or its TLS, is not acceptable"
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
