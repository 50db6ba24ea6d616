package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"longhaul/internal/task"
)

// Endpoints stores the registered webhooks of all tenants with their secrets. Every access is limited to one tenant.
//
// The tenant's settings and the state written by workers are separate objects, so that neither overwrites the other.
type Endpoints struct{ bucket *Bucket }

// NewEndpoints returns the registered webhooks of a bucket.
func NewEndpoints(b *Bucket) Endpoints { return Endpoints{bucket: b} }

// Endpoint is a registered webhook with its secrets.
type Endpoint struct {
	task.Endpoint
	Secrets []Secret `json:"secrets"` // newest first
}

// Secret is a signing secret, valid until its expiry; a zero time means that it does not expire.
type Secret struct {
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

// Signing returns the secrets that are valid at a time.
func (e Endpoint) Signing(now time.Time) []string {
	var all []string
	for _, s := range e.Secrets {
		if s.Until.IsZero() || now.Before(s.Until) {
			all = append(all, s.Text)
		}
	}
	return all
}

var validEndpointID = regexp.MustCompile(`^wh_[a-z2-7]{26}$`)

// IsEndpointID reports whether a text has the form of a webhook id.
func IsEndpointID(text string) bool { return validEndpointID.MatchString(text) }

func endpointsPrefix(tenant string) string { return "webhooks/" + tenant + "/" }

func endpointKey(tenant, id string) string { return endpointsPrefix(tenant) + id + ".json" }

func disabledKey(tenant, id string) string {
	return endpointsPrefix(tenant) + "disabled/" + id + ".json"
}

// Add registers an endpoint under a new id.
func (s Endpoints) Add(ctx context.Context, tenant string, e Endpoint) (Endpoint, error) {
	e.ID, e.Object, e.CreatedAt = "wh_"+strings.ToLower(rand.Text()[:26]), "webhook", time.Now().UTC().Truncate(time.Millisecond)
	return e, s.Put(ctx, tenant, e)
}

// Put stores the tenant's settings of an endpoint.
func (s Endpoints) Put(ctx context.Context, tenant string, e Endpoint) error {
	e.Disabled, e.Secret = nil, ""
	return s.bucket.PutJSON(ctx, endpointKey(tenant, e.ID), e)
}

// Get returns an endpoint of a tenant; task.NotFound if it is missing.
func (s Endpoints) Get(ctx context.Context, tenant, id string) (Endpoint, error) {
	var e Endpoint
	missing := task.Errorf(task.NotFound, "no webhook %q", id)
	if !IsEndpointID(id) {
		return e, missing
	}
	switch err := s.bucket.GetJSON(ctx, endpointKey(tenant, id), &e); {
	case errors.Is(err, ErrNotFound):
		return e, missing
	case err != nil:
		return e, err
	}
	var off task.Disabled
	switch err := s.bucket.GetJSON(ctx, disabledKey(tenant, id), &off); {
	case errors.Is(err, ErrNotFound):
		return e, nil
	case err != nil:
		return e, err
	}
	e.Disabled = &off
	return e, nil
}

// IDs returns the ids of a tenant's endpoints.
func (s Endpoints) IDs(ctx context.Context, tenant string) ([]string, error) {
	entries, err := s.bucket.List(ctx, endpointsPrefix(tenant))
	var ids []string
	for _, entry := range entries {
		ids = append(ids, strings.TrimSuffix(entry.Name, ".json"))
	}
	return ids, err
}

// List returns a tenant's endpoints.
func (s Endpoints) List(ctx context.Context, tenant string) ([]Endpoint, error) {
	ids, err := s.IDs(ctx, tenant)
	var all []Endpoint
	for _, id := range ids {
		e, err := s.Get(ctx, tenant, id)
		switch {
		case err == nil:
			all = append(all, e)
		case task.AsError(err).Code != task.NotFound: // an endpoint deleted during the listing is skipped
			return nil, fmt.Errorf("list webhooks: %w", err)
		}
	}
	return all, err
}

// Delete deletes an endpoint.
func (s Endpoints) Delete(ctx context.Context, tenant, id string) error {
	return errors.Join(s.bucket.Delete(ctx, endpointKey(tenant, id)), s.bucket.Delete(ctx, disabledKey(tenant, id)))
}

// Disable marks an endpoint as disabled: nothing is sent to it.
func (s Endpoints) Disable(ctx context.Context, tenant, id, reason string) error {
	return s.bucket.PutJSON(ctx, disabledKey(tenant, id), task.Disabled{At: time.Now().UTC().Truncate(time.Millisecond), Reason: reason})
}

// Enable removes the mark of Disable.
func (s Endpoints) Enable(ctx context.Context, tenant, id string) error {
	return s.bucket.Delete(ctx, disabledKey(tenant, id))
}
