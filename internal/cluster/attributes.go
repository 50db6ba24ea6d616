package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"
)

// usableWithin limits the time until a new search attribute is usable in the cluster.
const usableWithin = time.Minute

// EnsureSearchAttributes registers missing search attributes and returns once all of them are searchable. It is
// idempotent and safe for concurrent processes.
func (c *Connection) EnsureSearchAttributes(ctx context.Context, keys ...temporal.SearchAttributeKey) error {
	ctx, cancel := context.WithTimeout(ctx, usableWithin)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		err := c.register(ctx, keys)
		return err == nil || refused(err), err
	}, func(err error) error { return c.registerByHand(keys, err) })
	if err != nil {
		return err
	}
	return c.waitSearchable(ctx, keys)
}

// register adds missing search attributes. An error is ignored if another process registered them in the meantime.
func (c *Connection) register(ctx context.Context, keys []temporal.SearchAttributeKey) error {
	missing, err := c.missing(ctx, keys)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := &operatorservice.AddSearchAttributesRequest{Namespace: c.Namespace, SearchAttributes: map[string]enums.IndexedValueType{}}
	for _, key := range missing {
		add.SearchAttributes[key.GetName()] = key.GetValueType()
	}
	if _, err = c.Client.OperatorService().AddSearchAttributes(ctx, add); err == nil {
		c.log.InfoContext(ctx, "registered search attributes", "namespace", c.Namespace, "count", len(missing))
		return nil
	}
	if missing, again := c.missing(ctx, keys); again == nil && len(missing) == 0 {
		return nil
	}
	return err
}

// missing returns the keys that are not registered. A key with another type is an error, because the type cannot be
// changed.
func (c *Connection) missing(ctx context.Context, keys []temporal.SearchAttributeKey) ([]temporal.SearchAttributeKey, error) {
	present, err := c.Client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.Namespace})
	if err != nil {
		return nil, err
	}
	var missing []temporal.SearchAttributeKey
	for _, key := range keys {
		got, ok := present.GetCustomAttributes()[key.GetName()]
		switch {
		case !ok:
			missing = append(missing, key)
		case got != key.GetValueType():
			return nil, serviceerror.NewInvalidArgumentf("search attribute %s has the type %s and must have the type %s: remove it, or use another namespace", key.GetName(), got, key.GetValueType())
		}
	}
	return missing, nil
}

// registerByHand returns an error with the commands to register the attributes manually. Temporal Cloud always needs
// that.
func (c *Connection) registerByHand(keys []temporal.SearchAttributeKey, err error) error {
	if !refused(err) {
		return fmt.Errorf("search attributes of namespace %s: %w", c.Namespace, err)
	}
	var names, cloud strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&names, " --name %s --type %s", key.GetName(), key.GetValueType())
		fmt.Fprintf(&cloud, " --sa %s=%s", key.GetName(), key.GetValueType())
	}
	return fmt.Errorf("namespace %[1]s lacks search attributes and longhaul is not allowed to register them: %[2]w. "+
		"An administrator can run: temporal operator search-attribute create --namespace %[1]s%[3]s; "+
		"on Temporal Cloud: tcld namespace search-attributes add --namespace %[1]s%[4]s", c.Namespace, err, names.String(), cloud.String())
}

// waitSearchable waits until a query with all keys succeeds.
func (c *Connection) waitSearchable(ctx context.Context, keys []temporal.SearchAttributeKey) error {
	terms := make([]string, len(keys))
	for i, key := range keys {
		terms[i] = key.GetName() + " IS NOT NULL"
	}
	count := &workflowservice.CountWorkflowExecutionsRequest{Namespace: c.Namespace, Query: strings.Join(terms, " AND ")}
	return poll(ctx, func() (bool, error) {
		_, err := c.Client.WorkflowService().CountWorkflowExecutions(ctx, count)
		return err == nil, err
	}, func(err error) error {
		return fmt.Errorf("the search attributes of namespace %s cannot be used: %w", c.Namespace, err)
	})
}
