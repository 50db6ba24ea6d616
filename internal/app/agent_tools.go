package app

import (
	"longhaul/internal/config"
	"longhaul/internal/document"
	"longhaul/internal/task"
	"longhaul/internal/tool"
)

// agentTools creates the configured tools of agents. The caller closes the kit, which ends its MCP servers.
func (a *App) agentTools(fetcher *document.Fetcher, reader *document.Extractor, scratch string) (*tool.Kit, error) {
	options := tool.Options{Fetcher: fetcher, Reader: reader, Scratch: scratch, AllowPrivate: a.Config.Tools.AllowPrivate, Log: a.Log}
	for _, t := range a.Config.Tools.HTTP {
		options.HTTP = append(options.HTTP, httpTool(t))
	}
	for _, s := range a.Config.Tools.MCP {
		options.MCP = append(options.MCP, tool.Server{
			Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers,
			Approval: task.Approval(s.Approval), Timeout: s.Timeout,
		})
	}
	for _, s := range a.Config.Tools.Secrets {
		options.Secrets = append(options.Secrets, tool.Secret{Name: s.Name, Value: s.Value.Reveal, Hosts: s.Hosts, Tenants: s.Tenants})
	}
	return tool.New(options)
}

func httpTool(t config.HTTPTool) tool.HTTPTool {
	return tool.HTTPTool{
		HTTPTool: task.HTTPTool{
			Name: t.Name, Description: t.Description, Parameters: t.Parameters, Method: t.Method, URL: t.URL, Headers: t.Headers,
		},
		Approval: task.Approval(t.Approval), Timeout: t.Timeout,
	}
}
