package guard

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"longhaul/internal/task"
)

// notPublic are the blocks of IPv4 that lead nowhere, inside, or to many.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
)

// public6 is all of IPv6 that is in public use, but for notPublic6: tunnels and examples.
var (
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

// Dialer decides which addresses may be dialled. It sees each one after its name was resolved and
// right before the connection, so a name cannot show it one address and lead to another. The zero
// value lets through what is public.
type Dialer struct {
	hosts    []string // host or host:port
	networks []netip.Prefix
}

// NewDialer makes a Dialer that lets through besides what is public: host:port, host (any port), or CIDR.
func NewDialer(allowed []string) Dialer {
	var d Dialer
	for _, entry := range allowed {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if network, err := netip.ParsePrefix(entry); err == nil {
			d.networks = append(d.networks, network.Masked())
		} else {
			d.hosts = append(d.hosts, entry)
		}
	}
	return d
}

// Dial connects to host:port, under guard unless the configuration trusts that host by name. What is
// not let through is a *task.Error of FetchBlocked, and nothing was sent.
func (d Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	if !d.trusts(address) {
		dialer.ControlContext = d.check
	}
	return dialer.DialContext(ctx, network, address)
}

func (d Dialer) trusts(address string) bool {
	address = strings.ToLower(address)
	host, _, err := net.SplitHostPort(address)
	return err == nil && (slices.Contains(d.hosts, address) || slices.Contains(d.hosts, host))
}

// Names reports whether host:port is let through because the configuration names it, or a network
// around it: whatever a name resolves to, it is not public by chance.
func (d Dialer) Names(address string) bool {
	target, err := netip.ParseAddrPort(address)
	within := func(network netip.Prefix) bool { return network.Contains(target.Addr().Unmap()) }
	return d.trusts(address) || err == nil && slices.ContainsFunc(d.networks, within)
}

// check is called with the address about to be dialled.
func (d Dialer) check(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return blocked()
	}
	ip := target.Addr().Unmap()
	for _, network := range d.networks {
		if network.Contains(ip) {
			return nil
		}
	}
	if !public(ip) || target.Port() != 80 && target.Port() != 443 {
		return blocked()
	}
	return nil
}

// blocked does not name the address: what a name means inside is nobody's business outside.
func blocked() error {
	return task.Errorf(task.FetchBlocked,
		"only public addresses on ports 80 and 443 are fetched; upload the file, or ask the operator to allow its host")
}

// public reports whether ip is an address of the public internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	within := func(p netip.Prefix) bool { return p.Contains(ip) }
	switch {
	case ip.Zone() != "":
		return false
	case ip.Is4():
		return !slices.ContainsFunc(notPublic, within)
	}
	return public6.Contains(ip) && !slices.ContainsFunc(notPublic6, within)
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(all))
	for _, one := range all {
		out = append(out, netip.MustParsePrefix(one))
	}
	return out
}
