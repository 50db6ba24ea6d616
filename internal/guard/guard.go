package guard

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"longhaul/internal/task"
)

// internet allows public addresses on ports 80 and 443. Its deny list is generated from the special-purpose registries of IANA.
var internet = ssrf.New()

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
	return d.trusts(address) || err == nil && d.within(target.Addr().Unmap())
}

func (d Dialer) within(ip netip.Addr) bool {
	return slices.ContainsFunc(d.networks, func(network netip.Prefix) bool { return network.Contains(ip) })
}

// check refuses an address before it is dialled. An IPv4 address in IPv6 form (::ffff:10.0.0.1) meets the rules of IPv4.
func (d Dialer) check(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return blocked()
	}
	ip := target.Addr().Unmap()
	if d.within(ip) || internet.SafeAddrPort(netip.AddrPortFrom(ip, target.Port())) == nil {
		return nil
	}
	return blocked()
}

// blocked does not contain the address: what a name resolves to inside the network is not disclosed.
func blocked() error {
	return task.Errorf(task.FetchBlocked,
		"only public addresses on ports 80 and 443 are fetched; upload the file, or ask the operator to allow its host")
}
