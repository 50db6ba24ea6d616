package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
)

var keys = []temporal.SearchAttributeKey{
	temporal.NewSearchAttributeKeyKeyword("Tenant"), temporal.NewSearchAttributeKeyKeywordList("Labels"),
}

func TestEnsureSearchAttributes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		server namespace
		want   map[string]enums.IndexedValueType // attributes added
		errs   []string
	}{
		"fresh": {
			want: map[string]enums.IndexedValueType{"Tenant": enums.INDEXED_VALUE_TYPE_KEYWORD, "Labels": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST},
		},
		"all there": {
			server: namespace{attributes: map[string]enums.IndexedValueType{"Tenant": enums.INDEXED_VALUE_TYPE_KEYWORD, "Labels": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST}},
		},
		"one there": {
			server: namespace{attributes: map[string]enums.IndexedValueType{"Tenant": enums.INDEXED_VALUE_TYPE_KEYWORD}},
			want:   map[string]enums.IndexedValueType{"Labels": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST},
		},
		"another process was faster": {
			server: namespace{addErr: serviceerror.NewInvalidArgument("alias in use"), raced: true},
		},
		"busy at first": {
			server: namespace{listErrs: []error{serviceerror.NewUnavailable("busy")}},
			want:   map[string]enums.IndexedValueType{"Tenant": enums.INDEXED_VALUE_TYPE_KEYWORD, "Labels": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST},
		},
		"another type": {
			server: namespace{attributes: map[string]enums.IndexedValueType{"Tenant": enums.INDEXED_VALUE_TYPE_TEXT}},
			errs:   []string{"Tenant has the type Text and must have the type Keyword"},
		},
		"not allowed": {
			server: namespace{addErr: serviceerror.NewPermissionDenied("no", "")},
			errs: []string{
				"temporal operator search-attribute create --namespace ns --name Tenant --type Keyword --name Labels --type KeywordList",
				"tcld namespace search-attributes add --namespace ns --sa Tenant=Keyword --sa Labels=KeywordList",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := test.server.connect()
			err := c.EnsureSearchAttributes(t.Context(), keys...)
			if test.errs == nil {
				require.NoError(t, err)
				require.Equal(t, test.want, test.server.added)
				require.Equal(t, "Tenant IS NOT NULL AND Labels IS NOT NULL", test.server.counted)
			}
			for _, want := range test.errs {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestEnsureSearchAttributes_waitsUntilTheyAreSearchable(t *testing.T) {
	t.Parallel()
	server := namespace{countErrs: []error{serviceerror.NewInvalidArgument("unknown attribute")}}
	require.NoError(t, server.connect().EnsureSearchAttributes(t.Context(), keys...))
	require.Empty(t, server.countErrs, "the query is repeated until it succeeds")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	server.countErrs = []error{errors.New("not yet"), errors.New("not yet")}
	require.ErrorIs(t, server.connect().EnsureSearchAttributes(ctx, keys...), context.DeadlineExceeded)
}

// namespace is a fake server with one namespace.
type namespace struct {
	operatorservice.OperatorServiceClient
	workflowservice.WorkflowServiceClient
	attributes, added map[string]enums.IndexedValueType
	listErrs          []error // one error per call, then success
	countErrs         []error // as listErrs
	addErr            error
	raced             bool // attributes are registered although the add fails
	counted           string
}

func (n *namespace) connect() *Connection {
	fake := &mocks.Client{}
	fake.On("OperatorService", mock.Anything).Return(n)
	fake.On("WorkflowService", mock.Anything).Return(n)
	return &Connection{Client: fake, Namespace: "ns", log: slog.New(slog.DiscardHandler)}
}

func (n *namespace) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: n.attributes}, next(&n.listErrs)
}

func (n *namespace) AddSearchAttributes(_ context.Context, in *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption) (*operatorservice.AddSearchAttributesResponse, error) {
	if n.addErr == nil {
		n.added = in.GetSearchAttributes()
	}
	if n.raced {
		n.attributes = in.GetSearchAttributes()
	}
	return nil, n.addErr
}

func (n *namespace) CountWorkflowExecutions(_ context.Context, in *workflowservice.CountWorkflowExecutionsRequest, _ ...grpc.CallOption) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	n.counted = in.GetQuery()
	return nil, next(&n.countErrs)
}

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}
