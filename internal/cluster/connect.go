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

// Options say which Temporal, and how to talk to it.
type Options struct {
	// Address is a Temporal that needs no login; its namespace is default, and TEMPORAL_* is not
	// read. "" means the one that TEMPORAL_* describes, or 127.0.0.1:7233.
	Address string

	Log      *slog.Logger              // nil means slog.Default
	Metrics  client.MetricsHandler     // nil means none
	Payloads converter.ExternalStorage // the zero value leaves every payload in Temporal; see Payloads
}

// Connection is a client and what it is connected to. It is safe for concurrent use.
type Connection struct {
	Client    client.Client
	Identity  string // what our workers are called in Temporal
	Namespace string
	Address   string

	log *slog.Logger
}

// Connect makes a connection without waiting for the Temporal: calls on it fail until it answers,
// and again whenever it does not. See Wait.
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

// heartbeatEvery is how often each worker tells the server that it lives, and what it has to do: several of these are missed
// before it counts as gone.
const heartbeatEvery = 5 * time.Second

func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// Close ends the connection.
func (c *Connection) Close() { c.Client.Close() }

// Check asks once whether the namespace can be used.
func (c *Connection) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := c.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	return err
}

const (
	checkTimeout = 5 * time.Second
	checkEvery   = 500 * time.Millisecond
	tellEvery    = 10 * time.Second
)

// Wait returns once the namespace can be used. It goes on asking, and says so in the log, until ctx
// ends or Temporal refuses us: only a person can change that.
func (c *Connection) Wait(ctx context.Context) error {
	var told time.Time
	return poll(ctx, func() (done bool, err error) {
		err = c.Check(ctx)
		if err == nil || refused(err) {
			return true, err
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			c.log.InfoContext(ctx, "waiting for Temporal", "address", c.Address, "namespace", c.Namespace, "error", err)
		}
		return false, err
	}, func(err error) error {
		return fmt.Errorf("Temporal at %s, namespace %s, cannot be used: %w", c.Address, c.Namespace, err)
	})
}

// poll calls try until it is done or ctx has ended, and gives its last error in words.
func poll(ctx context.Context, try func() (done bool, err error), words func(error) error) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		done, err := try()
		switch {
		case done && err == nil:
			return nil
		case done:
			return words(err)
		}
		select {
		case <-ctx.Done():
			return words(errors.Join(err, ctx.Err()))
		case <-ticker.C:
		}
	}
}

// refused reports whether asking again cannot help.
func refused(err error) bool {
	switch serviceerror.ToStatus(err).Code() {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.Unimplemented:
		return true
	default:
		return false
	}
}
