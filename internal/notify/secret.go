package notify

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// secretPrefix is how a secret begins, so that it is known for one wherever it turns up.
const secretPrefix = "whsec_"

// The bounds of a secret, in bytes, as the specification sets them.
const (
	shortestSecret = 24
	longestSecret  = 64
)

// NewSecret makes a secret to sign with.
func NewSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// CheckSecret refuses what cannot sign, and does not show it.
func CheckSecret(secret string) error {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < shortestSecret || len(key) > longestSecret {
		return errors.New("must be whsec_ and the base64 of 24 to 64 random bytes")
	}
	return nil
}

// sign makes the signatures of a message at a time, one a secret: while a secret is being replaced, the receiver may
// know the old one or the new one.
func sign(m Message, at time.Time, secrets []string) (string, error) {
	var all []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return "", errors.New("the secret cannot sign")
		}
		signature, err := signer.Sign(m.ID, at, m.Body)
		if err != nil {
			return "", err
		}
		all = append(all, signature)
	}
	return strings.Join(all, " "), nil
}
