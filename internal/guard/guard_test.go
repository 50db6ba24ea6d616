package guard

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "192.0.1.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "169.254.169.254": false, "172.16.0.1": false,
		"192.0.0.8": false, "192.0.2.1": false, "192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.51.100.1": false,
		"203.0.113.1": false, "224.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false, "::ffff:10.0.0.1": false,
		"fe80::1": false, "fd00::1": false, "fc00::1": false, "ff02::1": false, "64:ff9b::7f00:1": false, "2001::1": false,
		"2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false, "100::1": false, "2001:4860:4860::8888": true, "fec0::1": false, "::7f00:1": false,
		"192.31.196.1": false, "192.52.193.1": false, "192.175.48.1": false, "240.0.0.1": false, "2620:4f:8000::1": false, "2606:4700::1111%eth0": false,
	} {
		target := netip.AddrPortFrom(netip.MustParseAddr(address), 443).String()
		require.Equal(t, want, Dialer{}.check(t.Context(), "tcp", target, nil) == nil, address)
	}
}

func TestDialer(t *testing.T) {
	t.Parallel()
	d := NewDialer([]string{"10.0.0.0/8", "files.internal", "Wiki.internal:8443", "::1/128"})
	for address, want := range map[string]bool{
		"10.9.9.9:9000": true, "[::ffff:10.9.9.9]:9000": true, "[::1]:5": true, "8.8.8.8:80": true, "8.8.8.8:443": true,
		"8.8.8.8:22": false, "11.0.0.1:443": true, "192.168.0.1:80": false, "[fe80::1%eth0]:80": false, "nonsense": false,
	} {
		require.Equal(t, want, d.check(t.Context(), "tcp", address, nil) == nil, address)
	}
	for address, want := range map[string]bool{
		"files.internal:1": true, "FILES.internal:80": true, "wiki.internal:8443": true, "wiki.internal:443": false, "evil.files.internal:80": false,
	} {
		require.Equal(t, want, d.trusts(address), address)
		require.Equal(t, want, d.Names(address), address)
	}
	for address, want := range map[string]bool{"10.9.9.9:9000": true, "[::1]:5": true, "8.8.8.8:80": false, "192.168.0.1:80": false} {
		require.Equal(t, want, d.Names(address), address)
	}
}
