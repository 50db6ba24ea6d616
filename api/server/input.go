package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// inputBody is what a person says to a task. Its schema is made from it, so it says what is published and what is enforced.
type inputBody struct {
	Request   string          `json:"request,omitempty" jsonschema:"maxLength=64,description=id of the request that is answered; left out for a message"`
	Action    string          `json:"action" jsonschema:"enum=approve,enum=deny,enum=answer,enum=message,description=approve or deny a call\\, answer a question\\, or send a message to an agent while it works"`
	Reason    string          `json:"reason,omitempty" jsonschema:"maxLength=2000,description=with deny: why\\, for the model"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"description=with approve: a JSON object of other arguments than those asked about"`
	Text      string          `json:"text,omitempty" jsonschema:"maxLength=20000,description=with answer and message: what is said"`
}

// maxArguments is the most bytes of arguments that a person may give instead.
const maxArguments = 64 << 10

func (s *server) input(ctx context.Context, in *actionRequest) (*taskAnswer, error) {
	var body inputBody
	if err := s.readBody(in.raw, func([]byte) *schema.Schema { return s.bodiesOf["input"] }, &body); err != nil {
		return nil, err
	}
	reply, err := body.reply()
	if err != nil {
		return nil, err
	}
	t, err := s.Tasks.Input(ctx, tenant(ctx), in.ID, reply)
	if err != nil {
		return nil, err
	}
	return answer(http.StatusAccepted, t), nil
}

// reply reads a body, or refuses what does not go together.
func (b inputBody) reply() (task.Reply, error) {
	action := task.Action(b.Action)
	var found []task.FieldError
	refuse := func(wrong bool, pointer, detail string) {
		if wrong {
			found = append(found, task.FieldError{Pointer: pointer, Detail: detail})
		}
	}
	refuse(action == task.Tell && b.Request != "", "/request", "a message answers no request; leave it out, or choose another action")
	refuse(action != task.Tell && b.Request == "", "/request", "is required with this action: the id from the task's input_requests")
	refuse((action == task.Tell || action == task.Respond) && b.Text == "", "/text", "is required with this action")
	refuse((action == task.Approve || action == task.Deny) && b.Text != "", "/text", "belongs to answer and message; the reason of a deny is in reason")
	refuse(action != task.Deny && b.Reason != "", "/reason", "belongs to deny")
	refuse(action != task.Approve && len(b.Arguments) > 0, "/arguments", "belong to approve")
	var object map[string]json.RawMessage
	refuse(len(b.Arguments) > 0 && json.Unmarshal(b.Arguments, &object) != nil, "/arguments", "must be a JSON object")
	refuse(len(b.Arguments) > maxArguments, "/arguments", fmt.Sprintf("may have at most %d bytes", maxArguments))
	if len(found) > 0 {
		return task.Reply{}, task.Unfit(found)
	}
	return task.Reply{Request: b.Request, Action: action, Reason: b.Reason, Arguments: b.Arguments, Text: b.Text}, nil
}
