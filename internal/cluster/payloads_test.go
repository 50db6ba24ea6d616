package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

type memory map[string][]byte

func (m memory) Put(_ context.Context, key, _ string, data []byte) error {
	m[key] = data
	return nil
}

func (m memory) Get(_ context.Context, key string) ([]byte, error) {
	if data, ok := m[key]; ok {
		return data, nil
	}
	return nil, errors.New("not found: " + key)
}

func TestPayloads_roundTrip(t *testing.T) {
	t.Parallel()
	blobs := memory{}
	driver := Payloads(blobs).Drivers[0]
	payloads := []*common.Payload{
		{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(strings.Repeat("x", 1<<20))},
		{Data: []byte("y")},
	}
	target := converter.StorageDriverWorkflowInfo{Namespace: "default", WorkflowID: "a/b c"}
	claims, err := driver.Store(converter.StorageDriverStoreContext{Context: t.Context(), Target: target}, payloads)
	require.NoError(t, err)
	_, err = driver.Store(converter.StorageDriverStoreContext{Context: t.Context(), Target: target}, payloads)
	require.NoError(t, err)
	require.Len(t, blobs, 2, "stored twice, one object")
	for key := range blobs {
		require.True(t, strings.HasPrefix(key, "payloads/default/a%2Fb%20c/"), key)
	}

	got, err := driver.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	require.NoError(t, err)
	for i := range payloads {
		require.True(t, proto.Equal(payloads[i], got[i]))
	}

	key := slices.Sorted(maps.Keys(blobs))[0]
	blobs[key] = []byte("changed")
	_, err = driver.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	require.ErrorContains(t, err, key+" does not match its hash")
	delete(blobs, key)
	_, err = driver.Retrieve(converter.StorageDriverRetrieveContext{Context: t.Context()}, claims)
	require.ErrorContains(t, err, "not found: "+key)
}
