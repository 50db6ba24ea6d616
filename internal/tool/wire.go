package tool

import (
	"errors"
	"net/http"
	"net/url"

	"longhaul/internal/guard"
)

// transport makes connections as they are made for documents, but of any number to a host: a call that waits for one
// of another would use up its time.
func (k *Kit) transport() *http.Transport {
	t := guard.Transport(k.options.AllowPrivate)
	t.MaxConnsPerHost = 0
	return t
}

// bare takes off the wrapping that repeats the whole address.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
