package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	ui "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
)

// startTimeout limits a start on a slow or busy machine; it takes about a second on an idle machine.
const startTimeout = time.Minute

// server is a running Temporal server.
type server struct {
	opts     options
	address  string
	temporal temporal.Server
	ui       *ui.Server // nil without UI
	lock     io.Closer  // nil in memory
}

// start returns when the server answers requests for the namespace.
func start(ctx context.Context, opts options) (*server, error) {
	ports, err := choosePorts(opts)
	if err != nil {
		return nil, err
	}
	s := &server{opts: opts, address: address(reachable(opts.ip), ports[primitives.FrontendService])}
	if !opts.memory {
		if s.lock, err = openFolder(opts.data); err != nil {
			return nil, err
		}
	}
	if err := s.serve(ctx, ports); err != nil {
		return nil, errors.Join(err, s.unlock())
	}
	return s, nil
}

func (s *server) serve(ctx context.Context, ports map[primitives.ServiceName]int) error {
	cfg := serverConfig(s.opts, ports)
	if err := createNamespace(cfg, s.opts); err != nil {
		return err
	}
	var err error
	s.temporal, err = temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts(ports, s.opts.ip)),
		temporal.WithDynamicConfigClient(tuning(s.opts)),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.opts.logLevel}))),
	)
	if err != nil {
		return err
	}
	if err := s.temporal.Start(); err != nil {
		return err
	}
	s.startUI()
	return s.ready(ctx)
}

// createNamespace writes the namespace into the database unless it exists. A registration over the API would delay the
// first start.
func createNamespace(cfg *config.Config, opts options) error {
	namespace, err := schema.NewNamespaceConfig(clusterName, opts.namespace, false, nil)
	if err != nil {
		return err
	}
	namespace.Detail.Config.Retention = durationpb.New(opts.retention)
	return schema.CreateNamespaces(cfg.Persistence.DataStores[mainStore].SQL, namespace)
}

func (s *server) startUI() {
	if s.opts.uiPort == 0 {
		return
	}
	s.ui = ui.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: s.address, Host: s.opts.ip, Port: s.opts.uiPort,
		EnableUI: true, DefaultNamespace: s.opts.namespace,
		DisableNewsFetch: true, HideLogs: true,
		CORS: uiconfig.CORS{CookieInsecure: true}, // plain HTTP, on loopback
	}))
	go func() { _ = s.ui.Start() }() // exits the process if it cannot listen
}

// ready waits until the namespace is served, and updates its retention to the flag.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := workflowservice.NewWorkflowServiceClient(conn)
	namespace, err := client.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.opts.namespace}, grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	settings := namespace.GetConfig()
	if settings.GetWorkflowExecutionRetentionTtl().AsDuration() == s.opts.retention {
		return nil
	}
	settings.WorkflowExecutionRetentionTtl = durationpb.New(s.opts.retention)
	_, err = client.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{Namespace: s.opts.namespace, Config: settings})
	return err
}

// announce prints one line with the addresses for the parent.
func (s *server) announce(w io.Writer) error {
	line := struct {
		Address       string `json:"address"`
		UI            string `json:"ui,omitempty"`
		Namespace     string `json:"namespace"`
		Data          string `json:"data,omitempty"`
		ServerVersion string `json:"server_version"`
	}{Address: s.address, Namespace: s.opts.namespace, Data: s.opts.data, ServerVersion: headers.ServerVersion}
	if s.ui != nil {
		line.UI = "http://" + address(reachable(s.opts.ip), s.opts.uiPort)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "ready %s\n", text)
	return err
}

// stop stops the UI, then the server, and releases the data folder last.
func (s *server) stop() error {
	if s.ui != nil {
		s.ui.Stop()
	}
	return errors.Join(s.temporal.Stop(), s.unlock())
}

func (s *server) unlock() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// choosePorts returns a port for each service: the requested port for the frontend, free ports for the others. All
// ports are held until the last is chosen, so that they differ.
func choosePorts(opts options) (map[primitives.ServiceName]int, error) {
	var held []io.Closer
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	listen := func(ip string, port int, flagName string) (int, error) {
		l, err := net.Listen("tcp", address(ip, port))
		if err != nil {
			return 0, fmt.Errorf("cannot listen on %s: %w; stop the program that uses the port, or choose another port with %s", address(ip, port), err, flagName)
		}
		held = append(held, l)
		return l.Addr().(*net.TCPAddr).Port, nil
	}
	if opts.uiPort != 0 {
		if _, err := listen(opts.ip, opts.uiPort, "--ui-port"); err != nil {
			return nil, err
		}
	}
	ports := map[primitives.ServiceName]int{}
	var err error
	if ports[primitives.FrontendService], err = listen(opts.ip, opts.port, "--port"); err != nil {
		return nil, err
	}
	for _, inner := range []primitives.ServiceName{primitives.HistoryService, primitives.MatchingService, primitives.WorkerService} {
		if ports[inner], err = listen(loopback, 0, ""); err != nil {
			return nil, err
		}
	}
	return ports, nil
}
