package server

import (
	"context"
	"net/http"

	"github.com/invopop/jsonschema"

	"longhaul/internal/notify"
	"longhaul/internal/schema"
	"longhaul/internal/storage"
	"longhaul/internal/task"
)

// Webhooks tell others how tasks go. An unknown id, a malformed one and one of another tenant are the same task.NotFound.
type Webhooks interface {
	// AddWebhook registers an address. Its answer and that of RotateWebhook alone show the secret.
	AddWebhook(ctx context.Context, tenant string, w task.Webhook) (task.Endpoint, error)
	Webhooks(ctx context.Context, tenant string) (task.Page[task.Endpoint], error)
	DeleteWebhook(ctx context.Context, tenant, id string) error
	RotateWebhook(ctx context.Context, tenant, id string) (task.Endpoint, error)
	// TestWebhook sends a message that says nothing. That it did not arrive is no error.
	TestWebhook(ctx context.Context, tenant, id string) (task.Attempt, error)
	Deliveries(ctx context.Context, tenant, id string) (task.Page[task.Delivery], error)
	// Redeliver sends a message again, whatever became of it.
	Redeliver(ctx context.Context, tenant, id string) (task.Delivery, error)
}

// events are the occasions that somebody asks for.
type events []task.Occasion

// JSONSchema says what tags cannot.
func (events) JSONSchema() *jsonschema.Schema {
	least := uint64(1)
	return &jsonschema.Schema{
		Type: "array", Description: "what to tell of; left out means everything", MinItems: &least, UniqueItems: true,
		Items: &jsonschema.Schema{Type: "string", Enum: words(task.Occasions())},
	}
}

// webhookOption is the webhook of one task.
type webhookOption struct {
	URL    string `json:"url" jsonschema:"maxLength=2048,description=http or https address that messages are posted to"`
	Events events `json:"events,omitempty"`
	Secret string `json:"secret,omitempty" jsonschema:"maxLength=200,description=what messages are signed with: whsec_ and the base64 of 24 to 64 bytes\\, or the id of a registered webhook to sign as for it; without one they are not signed. It is never shown again"`
}

// read gives the option, if there is one, or refuses it.
func (w *webhookOption) read(refuse func(pointer, format string, args ...any)) *task.Webhook {
	if w == nil {
		return nil
	}
	if err := notify.CheckURL(w.URL); err != nil {
		refuse("/webhook/url", "%s", err)
	}
	if w.Secret != "" && !storage.IsEndpointID(w.Secret) {
		if err := notify.CheckSecret(w.Secret); err != nil {
			refuse("/webhook/secret", "%s, or the id of a registered webhook", err)
		}
	}
	return &task.Webhook{URL: w.URL, Events: w.Events, Secret: w.Secret}
}

// notifyOption is who else is told of one task.
type notifyOption struct {
	Email string `json:"email" jsonschema:"maxLength=254,description=mailbox that a mail is sent to when the task ends or needs a person"`
}

func (n *notifyOption) read(refuse func(pointer, format string, args ...any)) string {
	if n == nil {
		return ""
	}
	if err := notify.CheckMailbox(n.Email); err != nil {
		refuse("/notify/email", "%s", err)
	}
	return n.Email
}

// webhookBody is the body of POST /v1/webhooks. Its schema is made from it, so it says what is published and enforced.
type webhookBody struct {
	URL    string `json:"url,omitempty" jsonschema:"maxLength=2048,description=http or https address that messages are posted to"`
	Email  string `json:"email,omitempty" jsonschema:"maxLength=254,description=mailbox that mails are sent to\\, instead of url"`
	Events events `json:"events,omitempty"`
}

// read gives what is to be registered, or refuses it.
func (b webhookBody) read() (task.Webhook, error) {
	w := task.Webhook{URL: b.URL, Events: b.Events}
	pointer, err := "/url", error(nil)
	switch {
	case (b.URL == "") == (b.Email == ""):
		return w, task.Unfit([]task.FieldError{{Detail: "needs either url or email"}})
	case b.URL != "":
		err = notify.CheckURL(b.URL)
	default:
		w.URL, pointer, err = notify.Mailto(b.Email), "/email", notify.CheckMailbox(b.Email)
	}
	if err != nil {
		return w, task.Unfit([]task.FieldError{{Pointer: pointer, Detail: err.Error()}})
	}
	return w, nil
}

type webhookPath struct {
	ID string `path:"id" doc:"the webhook's id"`
}

type webhookAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         task.Endpoint
}

// secretly gives an answer that holds a secret: nobody on the way is to keep it.
func secretly(e task.Endpoint, err error) (*webhookAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &webhookAnswer{CacheControl: "no-store", Body: e}, nil
}

type addWebhookRequest struct{ raw }

func (s *server) addWebhook(ctx context.Context, in *addWebhookRequest) (*webhookAnswer, error) {
	var body webhookBody
	if err := s.readBody(in.raw, func([]byte) *schema.Schema { return s.bodiesOf["webhook"] }, &body); err != nil {
		return nil, err
	}
	w, err := body.read()
	if err != nil {
		return nil, err
	}
	return secretly(s.Webhooks.AddWebhook(ctx, tenant(ctx), w))
}

func (s *server) webhooks(ctx context.Context, _ *struct{}) (*pageAnswer[task.Endpoint], error) {
	return listed(s.Webhooks.Webhooks(ctx, tenant(ctx)))
}

func (s *server) deleteWebhook(ctx context.Context, in *webhookPath) (*nothing, error) {
	if err := s.Webhooks.DeleteWebhook(ctx, tenant(ctx), in.ID); err != nil {
		return nil, err
	}
	return &nothing{Status: http.StatusNoContent}, nil
}

func (s *server) rotateWebhook(ctx context.Context, in *webhookPath) (*webhookAnswer, error) {
	return secretly(s.Webhooks.RotateWebhook(ctx, tenant(ctx), in.ID))
}

type attemptAnswer struct{ Body task.Attempt }

func (s *server) testWebhook(ctx context.Context, in *webhookPath) (*attemptAnswer, error) {
	attempt, err := s.Webhooks.TestWebhook(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &attemptAnswer{Body: attempt}, nil
}

func (s *server) deliveries(ctx context.Context, in *taskPath) (*pageAnswer[task.Delivery], error) {
	return listed(s.Webhooks.Deliveries(ctx, tenant(ctx), in.ID))
}

type deliveryPath struct {
	ID string `path:"id" doc:"the delivery's id"`
}

type deliveryAnswer struct{ Body task.Delivery }

func (s *server) redeliver(ctx context.Context, in *deliveryPath) (*deliveryAnswer, error) {
	d, err := s.Webhooks.Redeliver(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &deliveryAnswer{Body: d}, nil
}
