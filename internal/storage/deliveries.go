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

// Notice says who wants to hear of a task.
type Notice struct {
	Webhook   *task.Webhook `json:"webhook,omitempty"`
	Email     string        `json:"email,omitempty"`
	Endpoints []string      `json:"endpoints,omitempty"` // ids of the tenant's, as they were when the task was created
}

// Nobody reports whether no one wants to hear.
func (n Notice) Nobody() bool { return n.Webhook == nil && n.Email == "" && len(n.Endpoints) == 0 }

// Delivery is a message to one address with what only its keeper knows.
type Delivery struct {
	task.Delivery
	Tenant string `json:"tenant"`
	Notice string `json:"notice,omitempty"` // key of the Notice that names the address, if it is not a registered one
	Body   string `json:"body"`             // the same bytes at every attempt
	Round  string `json:"round,omitempty"`  // the sending that its latest attempts belong to: the first, or one again
	Failed int    `json:"failed,omitempty"` // attempts of that round that failed
	Held   bool   `json:"held,omitempty"`   // put among the failures that a mailbox is told of together
}

// Deliveries are the messages of all tasks.
type Deliveries struct{ bucket *Bucket }

// NewDeliveries gives the messages of a bucket.
func NewDeliveries(b *Bucket) Deliveries { return Deliveries{bucket: b} }

// A delivery's id names its task, and is always the same for the same occasion and address.
var validDelivery = regexp.MustCompile(`^msg_([a-z2-7]{26})_[a-z2-7]{16}$`)

const taskPrefix = "task_"

// DeliveryID is the id of the message that tells of one occasion of a task to one address.
func DeliveryID(taskID, occasion, address string) string {
	sum := sha256.Sum256([]byte(occasion + "\x00" + address))
	return "msg_" + strings.TrimPrefix(taskID, taskPrefix) + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:16])
}

// Get gives a message; task.NotFound when there is none.
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

// Add keeps a message unless it is there already.
func (s Deliveries) Add(ctx context.Context, d Delivery) error {
	_, err := s.bucket.PutNewJSON(ctx, DeliveryKey(d.Task, d.ID), d)
	return err
}

// Put keeps what became of a message.
func (s Deliveries) Put(ctx context.Context, d Delivery) error {
	return s.bucket.PutJSON(ctx, DeliveryKey(d.Task, d.ID), d)
}

// Of gives the messages of a task.
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
