package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

const (
	driverName   = "longhaul-bucket" // stored in histories; never change it
	claimKey     = "key"
	inlineLimit  = 256 << 10 // bytes; Temporal's own limit is 2 MiB
	payloadsRoot = "payloads"
)

// Blobs is the required part of the bucket. Put must be atomic.
type Blobs interface {
	Put(ctx context.Context, key, contentType string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
}

// Payloads stores payloads over 256 KiB in blobs and leaves references in Temporal. It is a backstop: large data
// should already be passed by reference.
func Payloads(blobs Blobs) converter.ExternalStorage {
	return converter.ExternalStorage{Drivers: []converter.StorageDriver{driver{blobs}}, PayloadSizeThreshold: inlineLimit}
}

// payloadPrefix is the prefix of all payloads of a workflow, over all runs, so that they can be erased together.
func payloadPrefix(namespace, workflowID string) string {
	return payloadsRoot + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(workflowID) + "/"
}

// driver names a payload by its hash, so that storing it again is idempotent.
type driver struct{ blobs Blobs }

func (driver) Name() string { return driverName }
func (driver) Type() string { return driverName }

func (d driver) Store(sc converter.StorageDriverStoreContext, payloads []*common.Payload) ([]converter.StorageDriverClaim, error) {
	prefix := payloadPrefix("_", "_") // the SDK gives no target for query results
	switch target := sc.Target.(type) {
	case converter.StorageDriverWorkflowInfo:
		prefix = payloadPrefix(target.Namespace, target.WorkflowID)
	case converter.StorageDriverActivityInfo:
		prefix = payloadPrefix(target.Namespace, target.ActivityID)
	}
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, payload := range payloads {
		data, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode a payload: %w", err)
		}
		key := prefix + hash(data)
		err = sc.GetLimiter().Permit(sc.Context, payload, func() error {
			return d.blobs.Put(sc.Context, key, "application/x-protobuf", data)
		})
		if err != nil {
			return nil, err
		}
		claims[i] = converter.StorageDriverClaim{ClaimData: map[string]string{claimKey: key}}
	}
	return claims, nil
}

// Retrieve verifies the hash of each payload.
func (d driver) Retrieve(rc converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*common.Payload, error) {
	payloads := make([]*common.Payload, len(claims))
	for i, claim := range claims {
		var data []byte
		err := rc.GetLimiter().Permit(rc.Context, claim, func() (err error) {
			data, err = d.blobs.Get(rc.Context, claim.ClaimData[claimKey])
			return err
		})
		if err != nil {
			return nil, err
		}
		if payloads[i], err = decode(claim.ClaimData[claimKey], data); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

func decode(key string, data []byte) (*common.Payload, error) {
	if sum := hash(data); len(key) < len(sum) || key[len(key)-len(sum):] != sum {
		return nil, fmt.Errorf("%s does not match its hash", key)
	}
	payload := &common.Payload{}
	if err := proto.Unmarshal(data, payload); err != nil {
		return nil, fmt.Errorf("decode %s: %w", key, err)
	}
	return payload, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
