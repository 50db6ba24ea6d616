package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// mcpServer has a tool for all that a server may do.
func mcpServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	add := func(name string, readOnly bool, do func(ctx context.Context, args map[string]any) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{
			Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			return do(ctx, args)
		})
	}
	said := func(texts ...string) (*mcp.CallToolResult, error) {
		r := &mcp.CallToolResult{}
		for _, text := range texts {
			r.Content = append(r.Content, &mcp.TextContent{Text: text})
		}
		return r, nil
	}
	add("echo", true, func(_ context.Context, args map[string]any) (*mcp.CallToolResult, error) {
		return said(fmt.Sprint(args["text"]))
	})
	add("pid", true, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return said(strconv.Itoa(os.Getpid()))
	})
	add("env", true, func(context.Context, map[string]any) (*mcp.CallToolResult, error) { return said(os.Environ()...) })
	add("die", false, func(context.Context, map[string]any) (*mcp.CallToolResult, error) { os.Exit(3); return nil, nil })
	add("hang", false, func(ctx context.Context, _ map[string]any) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("fail", false, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "disk full"}}}, nil
	})
	add("refuse", false, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return nil, errors.New("not today")
	})
	add("parts.of/many", true, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "words"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "a resource"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "application/zip", Blob: []byte("12")}},
			&mcp.ResourceLink{Name: "more", URI: "file:///c", Description: "there"},
		}}, nil
	})
	add("structured", true, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: []mcp.Content{}}, nil
	})
	add("secret", true, func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
		return said("it is hush-hush-hush")
	})
	return s
}

// child is this binary as an MCP server called files.
func child(t testing.TB, args ...string) Server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return Server{Name: "files", Command: self, Args: append([]string{"mcp"}, args...)}
}

// served is the same over HTTP; before sees each request first, and answers it if it says so.
func served(t testing.TB, before func(http.ResponseWriter, *http.Request) bool) *httptest.Server {
	t.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcpServer() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}
