package main

import (
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	mainStore       = "main"
	visibilityStore = "visibility"
	clusterName     = "active"
	loopback        = "127.0.0.1"

	// shards cannot change after a database is created.
	shards = 4
)

// tuning overrides defaults that are meant for a cluster.
func tuning(opts options) dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.MatchingEnableFairness.Key():                              true, // a tenant's backlog does not block other tenants
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():                  1,    // one partition makes rate limits and fairness exact
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():                 1,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():        1000, // lists and counts; the default is 10
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                  10000,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 5000, // one per watched task
		dynamicconfig.HistoryCountSuggestContinueAsNew.Key():                    opts.historyEvents,
		dynamicconfig.WorkflowPauseEnabled.Key():                                true,
		dynamicconfig.FrontendMaxConcurrentBatchOperationPerNamespace.Key():     5,
	}
}

// serverConfig configures one process with all services, each on its own port.
func serverConfig(opts options, ports map[primitives.ServiceName]int) *config.Config {
	services := map[string]config.Service{}
	for name, port := range ports {
		rpc := config.RPC{GRPCPort: port, BindOnLocalHost: true}
		if name == primitives.FrontendService {
			rpc.BindOnLocalHost, rpc.BindOnIP = false, opts.ip
		}
		services[string(name)] = config.Service{RPC: rpc}
	}
	frontend := address(reachable(opts.ip), ports[primitives.FrontendService])
	return &config.Config{
		Persistence: config.Persistence{
			DefaultStore: mainStore, VisibilityStore: visibilityStore, NumHistoryShards: shards,
			DataStores: map[string]config.DataStore{
				mainStore:       {SQL: database(opts, mainFile)},
				visibilityStore: {SQL: database(opts, visibilityFile)},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		PublicClient:        config.PublicClient{HostPort: frontend},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
}

// database configures one SQLite file. A crash of the process loses no acknowledged write; a power failure may lose
// the last commits but does not corrupt the file.
func database(opts options, file string) *config.SQL {
	if opts.memory {
		return &config.SQL{
			PluginName: sqlite.PluginName, DatabaseName: file,
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}
	}
	return &config.SQL{
		PluginName: sqlite.PluginName, DatabaseName: escaped(opts.data, file),
		ConnectAttributes: map[string]string{
			"mode": "rw", "journal_mode": "wal", "synchronous": "1", "busy_timeout": "10000",
			"cache_size": "-131072", // KiB: 128 MiB
		},
	}
}

// hosts lists the services for each other, instead of a gossip ring.
func hosts(ports map[primitives.ServiceName]int, ip string) map[primitives.ServiceName]static.Hosts {
	all := map[primitives.ServiceName]static.Hosts{}
	for name, port := range ports {
		host := loopback
		if name == primitives.FrontendService {
			host = reachable(ip)
		}
		all[name] = static.SingleLocalHost(address(host, port))
	}
	return all
}

// reachable returns the address by which a client on this machine reaches a listener on ip.
func reachable(ip string) string {
	if parsed := net.ParseIP(ip); parsed != nil && parsed.IsUnspecified() {
		return loopback
	}
	return ip
}

func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// escaped returns a path for SQLite's file: URIs.
func escaped(dir, file string) string {
	return (&url.URL{Path: filepath.Join(dir, file)}).EscapedPath()
}
