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

	// shards is fixed for the life of a database.
	shards = 4
)

// tuning is what a single node does better than the defaults, which are meant for a cluster.
func tuning(opts options) dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		dynamicconfig.MatchingEnableFairness.Key():                              true, // no tenant's backlog hides another's
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():                  1,    // makes rate limits and fairness exact
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():                 1,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():        1000, // lists and counts; 10 otherwise
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key():                  10000,
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(): 5000, // one for each task somebody watches
		dynamicconfig.HistoryCountSuggestContinueAsNew.Key():                    opts.historyEvents,
		dynamicconfig.WorkflowPauseEnabled.Key():                                true,
		dynamicconfig.FrontendMaxConcurrentBatchOperationPerNamespace.Key():     5,
	}
}

// serverConfig describes one process with every service in it, each on a port of its own.
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

// database is how one SQLite file is opened. A crash of the process loses nothing that was
// acknowledged; a power cut can lose the last commits, never the file.
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

// hosts lets the services find each other without a gossip ring.
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

// reachable is where a client on this machine finds what listens on ip.
func reachable(ip string) string {
	if parsed := net.ParseIP(ip); parsed != nil && parsed.IsUnspecified() {
		return loopback
	}
	return ip
}

func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// escaped is a path as SQLite's file: URIs want it.
func escaped(dir, file string) string {
	return (&url.URL{Path: filepath.Join(dir, file)}).EscapedPath()
}
