package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc/codes"
)

const (
	defaultAddress   = "127.0.0.1:7233"
	defaultNamespace = "default"
)

// Options select the Temporal server.
type Options struct {
	// Address is a Temporal server without login, with namespace default; TEMPORAL_* is then ignored. "" means the
	// server described by TEMPORAL_*, or 127.0.0.1:7233.
	Address string

	Log      *slog.Logger              // nil means slog.Default
	Metrics  client.MetricsHandler     // nil means no metrics
	Payloads converter.ExternalStorage // the zero value keeps all payloads in Temporal; see Payloads
}

// Connection is a client and its connection data. It is safe for concurrent use.
type Connection struct {
	Client    client.Client
	Identity  string // identity of this process's workers in Temporal
	Namespace string
	Address   string

	log *slog.Logger
}

// Connect creates a connection without waiting for the server; calls fail while the server is unavailable. See Wait.
func Connect(opts Options) (*Connection, error) {
	settings, err := settings(opts)
	if err != nil {
		return nil, err
	}
	log := cmp.Or(opts.Log, slog.Default())
	settings.Logger = sdklog.NewStructuredLogger(log)
	settings.MetricsHandler = opts.Metrics
	settings.ExternalStorage = opts.Payloads
	settings.WorkerHeartbeatInterval = heartbeatEvery
	if settings.Identity == "" {
		settings.Identity = identity()
	}
	c, err := client.NewLazyClient(settings)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", settings.HostPort, err)
	}
	return &Connection{Client: c, Identity: settings.Identity, Namespace: settings.Namespace, Address: settings.HostPort, log: log}, nil
}

func settings(opts Options) (client.Options, error) {
	if opts.Address != "" {
		return client.Options{HostPort: opts.Address, Namespace: defaultNamespace}, nil
	}
	settings, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("read the TEMPORAL_* settings: %w", err)
	}
	settings.HostPort = cmp.Or(settings.HostPort, defaultAddress)
	settings.Namespace = cmp.Or(settings.Namespace, defaultNamespace)
	return settings, nil
}

// heartbeatEvery is the interval of worker heartbeats. The server declares a worker dead after several missed
// heartbeats.
const heartbeatEvery = 5 * time.Second

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// Close closes the connection.
func (c *Connection) Close() { c.Client.Close() }

// Check requests the namespace once.
func (c *Connection) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := c.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	return err
}

const (
	checkTimeout = 5 * time.Second
	checkEvery   = 500 * time.Millisecond
	logEvery     = 10 * time.Second
)

// Wait returns once the namespace is available. It retries and logs until ctx ends or Temporal refuses access, which
// only an operator can change.
func (c *Connection) Wait(ctx context.Context) error {
	var logged time.Time
	return poll(ctx, func() (done bool, err error) {
		err = c.Check(ctx)
		if err == nil || refused(err) {
			return true, err
		}
		if time.Since(logged) >= logEvery {
			logged = time.Now()
			c.log.InfoContext(ctx, "waiting for Temporal", "address", c.Address, "namespace", c.Namespace, "error", err)
		}
		return false, err
	}, func(err error) error {
		return fmt.Errorf("Temporal at %s, namespace %s, is not usable: %w", c.Address, c.Namespace, err)
	})
}

// poll calls try until it is done or ctx ends; wrap adds context to the last error.
func poll(ctx context.Context, try func() (done bool, err error), wrap func(error) error) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		done, err := try()
		switch {
		case done && err == nil:
			return nil
		case done:
			return wrap(err)
		}
		select {
		case <-ctx.Done():
			return wrap(errors.Join(err, ctx.Err()))
		case <-ticker.C:
		}
	}
}

// refused reports whether a retry cannot help.
func refused(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.Unimplemented:
		return true
	default:
		return false
	}
}
