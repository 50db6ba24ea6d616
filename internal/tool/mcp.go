package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"longhaul/internal/guard"
	"longhaul/internal/schema"
	"longhaul/internal/task"
)

// define gives the definitions of a server's tools.
func (s *server) define(ctx context.Context, spec task.ToolSpec) ([]Definition, error) {
	tools, err := s.list(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, task.Errorf(task.Unavailable, "the MCP server %s does not answer; try again later, or leave out its tools", s.Name).
			Because(s.kit.secrets.scrubError(err))
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	for i, name := range spec.Only {
		if !slices.Contains(names, name) {
			return nil, fault{fmt.Sprintf("/only/%d", i), schema.Unknown("tool of "+s.Name, name, names)}
		}
	}
	var all []Definition
	for _, t := range tools {
		if len(spec.Only) == 0 || slices.Contains(spec.Only, t.Name) {
			all = append(all, s.definition(spec, t))
		}
	}
	return all, nil
}

// list asks a server for its tools, once more if the connection turns out to be broken.
func (s *server) list(ctx context.Context) ([]*mcp.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*startWithin)
	defer cancel()
	for again := false; ; again = true {
		l, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		asking, done := context.WithTimeout(ctx, startWithin)
		tools, err := patiently(asking, func() ([]*mcp.Tool, error) { return collect(asking, l.session) })
		done()
		if err == nil {
			return tools, nil
		}
		s.drop(l)
		if again {
			return nil, err
		}
	}
}

func collect(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	const most = 1000
	var tools []*mcp.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if tools = append(tools, t); len(tools) > most {
			return nil, fmt.Errorf("it has more than %d tools", most)
		}
	}
	return tools, nil
}

func (s *server) definition(spec task.ToolSpec, t *mcp.Tool) Definition {
	const longest = 4000 // of a description, in bytes
	description := t.Description
	if description == "" {
		description = "The tool " + t.Name + " of " + s.Name + "."
	}
	given, _ := t.InputSchema.(map[string]any)
	if given["type"] != "object" {
		given = map[string]any{"type": "object"}
	}
	safe := t.Annotations != nil && t.Annotations.ReadOnlyHint
	spec.Only = nil // it says nothing of this one
	return Definition{
		Name: called(s.Name, t.Name), Description: clip(description, longest), Parameters: parameters(given),
		Approval: needsApproval(spec.Approval, s.Approval, safe), Safe: safe, Spec: spec, Remote: t.Name,
	}
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// called is what a model calls a server's tool. A name that no model takes is changed, and gets a mark of what it was,
// so that two never become one.
func called(server, name string) string {
	const longest = 64
	plain := server + "__" + notInNames.ReplaceAllString(name, "_")
	if len(plain) <= longest && strings.HasSuffix(plain, "__"+name) {
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return plain[:min(len(plain), longest-len(mark))] + mark
}

// callMCP calls a server's tool. A call that a server surely never took up is made once more with a new connection.
func (k *Kit) callMCP(ctx context.Context, d Definition, call Call) (Result, error) {
	s, ok := k.mcp[d.Spec.MCP]
	if !ok {
		return Result{}, failed("The MCP server %s is no longer there; go on without it.", d.Spec.MCP)
	}
	if err := k.secrets.serves(s.Headers, call.Tenant); err != nil {
		return Result{}, failed("The call was not made: %s.", err)
	}
	inner, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	params := &mcp.CallToolParams{Name: d.Remote, Arguments: call.Arguments}
	for again := false; ; again = true {
		l, err := s.connect(inner)
		if err != nil {
			k.options.Log.Warn("MCP server not reached", "server", s.Name, "error", k.secrets.scrubError(err))
			return Result{}, failed("The call was not made: the MCP server %s does not answer. It may work later.", s.Name)
		}
		noted := new(trip)
		traced := context.WithValue(inner, tripKey{}, noted)
		answer, err := patiently(traced, func() (*mcp.CallToolResult, error) { return l.session.CallTool(traced, params) })
		if err == nil {
			return contents(answer), nil
		}
		if forgotten(l, noted) && !again {
			s.drop(l)
			continue
		}
		return Result{}, s.verdict(inner, l, noted, err)
	}
}

// forgotten reports whether a server does not know its session any more: it began anew, and did nothing.
func forgotten(l *link, noted *trip) bool {
	return noted.status.Load() == http.StatusNotFound && l.session.ID() != ""
}

// verdict says what became of a call without a result, and lets go of a connection that is broken.
func (s *server) verdict(ctx context.Context, l *link, noted *trip, err error) error {
	said, ok := answered(err)
	status := int(noted.status.Load())
	switch {
	case ok:
		return failed("The MCP server %s refused the call: %s", s.Name, said)
	case ctx.Err() != nil:
		s.later(func() { s.examine(context.WithoutCancel(ctx), l) })
	default:
		s.drop(l)
	}
	switch {
	case status >= http.StatusMultipleChoices:
		return failed("The MCP server %s answered HTTP %d %s.%s", s.Name, status, http.StatusText(status), doubt(status))
	case s.URL != "" && !noted.sent.Load():
		return failed("The call was not made: the MCP server %s cannot be reached: %s.", s.Name, guard.Reason(err))
	case ctx.Err() != nil:
		return task.Errorf(task.Unavailable, "the MCP server %s gave no answer within %s; whether the call took effect is not known", s.Name, s.Timeout)
	}
	return task.Errorf(task.Unavailable, "the connection to the MCP server %s was lost during the call; whether it took effect is not known", s.Name).
		Because(err)
}

func doubt(status int) string {
	if status >= http.StatusInternalServerError {
		return " Whether the call took effect is not known."
	}
	return ""
}

// answered gives what a server said instead of a result. The SDK has errors of the same form for what went wrong on this
// side: its codes from -32003 to -32005.
func answered(err error) (string, bool) {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || said.Code <= -32003 && said.Code >= -32005 {
		return "", false
	}
	return said.Message, true
}

// examine lets go of a server that does not even answer a ping.
func (s *server) examine(ctx context.Context, l *link) {
	ctx, cancel := context.WithTimeout(ctx, aliveWithin)
	defer cancel()
	_, err := patiently(ctx, func() (struct{}, error) { return struct{}{}, l.session.Ping(ctx, nil) })
	if _, alive := answered(err); err != nil && !alive {
		s.drop(l)
	}
}

// contents makes a text of what a tool gave. What is no text is named and left out.
func contents(answer *mcp.CallToolResult) Result {
	if answer.NeedsInput() {
		return Result{Text: "The tool asks for more input in the middle of a call, which is not possible here.", IsError: true}
	}
	var parts []string
	for _, content := range answer.Content {
		parts = append(parts, part(content))
	}
	r := Result{Text: strings.Join(parts, "\n\n"), IsError: answer.IsError, ContentType: "text/plain"}
	if len(parts) == 0 && answer.StructuredContent != nil {
		if raw, err := json.Marshal(answer.StructuredContent); err == nil {
			r.Text, r.ContentType = string(raw), "application/json"
		}
	}
	if r.Text == "" {
		r.Text, r.ContentType = "It answered without a text.", ""
	}
	return r
}

func part(content mcp.Content) string {
	leftOut := func(kind, of string, size int) string {
		return fmt.Sprintf("[%s %s of %d bytes, left out: only text can be read here]", kind, of, size)
	}
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return leftOut("image", c.MIMEType, len(c.Data))
	case *mcp.AudioContent:
		return leftOut("audio", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[%s](%s) %s", c.Name, c.URI, c.Description))
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return ""
		}
		if c.Resource.Blob != nil {
			return leftOut("resource "+c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return c.Resource.Text
	}
	return "[content of a kind that is not known, left out]"
}
