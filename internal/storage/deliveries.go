package storage

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"regexp"
	"strings"

	"longhaul/internal/task"
)

// Notice lists the receivers of a task's messages.
type Notice struct {
	Webhook   *task.Webhook `json:"webhook,omitempty"`
	Email     string        `json:"email,omitempty"`
	Endpoints []string      `json:"endpoints,omitempty"` // ids of the tenant's webhooks when the task was created
}

// Nobody reports whether no one wants to hear.
func (n Notice) Nobody() bool { return n.Webhook == nil && n.Email == "" && len(n.Endpoints) == 0 }

// Delivery is a message to one address with its internal state.
type Delivery struct {
	task.Delivery
	Tenant string `json:"tenant"`
	Notice string `json:"notice,omitempty"` // key of the Notice with the address; "" for a registered webhook
	Body   string `json:"body"`             // identical at every attempt
	Round  string `json:"round,omitempty"`  // id of the current round of attempts: the first sending or a resend
	Failed int    `json:"failed,omitempty"` // failed attempts in this round
	Held   bool   `json:"held,omitempty"`   // collected for a mail about several failures
}

// Deliveries stores the messages of all tasks.
type Deliveries struct{ bucket *Bucket }

// NewDeliveries returns the messages of a bucket.
func NewDeliveries(b *Bucket) Deliveries { return Deliveries{bucket: b} }

// A delivery's id contains the task id and is a function of occasion and address.
var validDelivery = regexp.MustCompile(`^msg_([a-z2-7]{26})_[a-z2-7]{16}$`)

const taskPrefix = "task_"

// DeliveryID returns the id of the message about an occasion of a task to an address.
func DeliveryID(taskID, occasion, address string) string {
	sum := sha256.Sum256([]byte(occasion + "\x00" + address))
	return "msg_" + strings.TrimPrefix(taskID, taskPrefix) + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:16])
}

// Get returns a message; task.NotFound if it is missing.
func (s Deliveries) Get(ctx context.Context, id string) (Delivery, error) {
	var d Delivery
	missing := task.Errorf(task.NotFound, "no delivery %q", id)
	parts := validDelivery.FindStringSubmatch(id)
	if parts == nil {
		return d, missing
	}
	err := s.bucket.GetJSON(ctx, DeliveryKey(taskPrefix+parts[1], id), &d)
	if errors.Is(err, ErrNotFound) {
		return d, missing
	}
	return d, err
}

// Add stores a message unless it exists.
func (s Deliveries) Add(ctx context.Context, d Delivery) error {
	_, err := s.bucket.PutNewJSON(ctx, DeliveryKey(d.Task, d.ID), d)
	return err
}

// Put stores the state of a message.
func (s Deliveries) Put(ctx context.Context, d Delivery) error {
	return s.bucket.PutJSON(ctx, DeliveryKey(d.Task, d.ID), d)
}

// Of returns the messages of a task.
func (s Deliveries) Of(ctx context.Context, taskID string) ([]Delivery, error) {
	entries, err := s.bucket.List(ctx, DeliveriesPrefix(taskID))
	var all []Delivery
	for _, entry := range entries {
		d, err := s.Get(ctx, strings.TrimSuffix(entry.Name, ".json"))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, err
}
