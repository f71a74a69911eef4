package hostifd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"tamtam/host/netdev"
	"tamtam/swss/schema"
)

// A Linux is the kernel of this host, in the network namespace of the process, with the devices of host interfaces.
type Linux struct{ netdev.Linux }

// NewKernel returns the kernel that this process runs on; it needs CAP_NET_ADMIN.
func NewKernel() (Kernel, error) { return Linux{}, nil }

// Set configures a device.
func (Linux) Set(name string, d, old Device, whole bool) error {
	link, err := netlink.LinkByName(name)
	missing := netlink.LinkNotFoundError{}
	if d.On != "" && (err == nil && link.Attrs().Alias == netdev.Alias || errors.As(err, &missing)) {
		link, err = subPort(name, d, link)
	}
	switch {
	case errors.As(err, &missing):
		return errors.New("there is no such device: syncd makes it, at the latest when the chip has the port")
	case err != nil:
		return err
	case link.Attrs().Alias != netdev.Alias:
		return fmt.Errorf("there is an interface of this name (%s) which is no host interface of tamtam's: rename or "+
			"remove it", link.Type())
	}
	var errs []error
	if now := link.Attrs(); !slices.Equal(now.HardwareAddr, d.MAC[:]) {
		// Down, so that IPv6's link-local address is derived again from the new address.
		errs = append(errs, netlink.LinkSetDown(link), netlink.LinkSetHardwareAddr(link, net.HardwareAddr(d.MAC[:])))
	}
	errs = append(errs, netlink.LinkSetMTU(link, d.MTU))
	route(name, d.Routed)
	if d.Up {
		errs = append(errs, netlink.LinkSetUp(link))
	} else {
		errs = append(errs, netlink.LinkSetDown(link))
	}
	return errors.Join(append(errs, setAddrs(link, d, old, whole))...)
}

// subPort returns the device of a sub-port, which it creates if it is not there or has another VLAN or port.
func subPort(name string, d Device, have netlink.Link) (netlink.Link, error) {
	on, err := netlink.LinkByName(d.On)
	if err != nil {
		return nil, fmt.Errorf("device of %s: %w", d.On, err)
	}
	v, ok := have.(*netlink.Vlan)
	if ok && v.VlanId == int(d.VLAN) && v.ParentIndex == on.Attrs().Index {
		return have, nil
	}
	if have != nil {
		if err := netlink.LinkDel(have); err != nil {
			return nil, err
		}
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex, attrs.HardwareAddr = name, on.Attrs().Index, net.HardwareAddr(d.MAC[:])
	link := &netlink.Vlan{LinkAttrs: attrs, VlanId: int(d.VLAN), VlanProtocol: netlink.VLAN_PROTOCOL_8021Q}
	if err := netlink.LinkAdd(link); err != nil {
		return nil, fmt.Errorf("VLAN %d on %s: %w", d.VLAN, d.On, err)
	}
	if err := netlink.LinkSetAlias(link, netdev.Alias); err != nil {
		return nil, err
	}
	return netlink.LinkByName(name)
}

// route enables forwarding for a device that routes, for packets that the chip sends to the CPU because the neighbour
// is unknown. A device that does not route has no IPv6, or it would have an address. If /proc cannot be written, the
// operator must set this.
func route(name string, routed bool) {
	on, off := "1\n", "0\n"
	if !routed {
		on, off = off, on
	}
	_ = os.WriteFile(settings+"ipv6/conf/"+name+"/disable_ipv6", []byte(off), 0)
	_ = os.WriteFile(settings+"ipv4/conf/"+name+"/forwarding", []byte(on), 0)
}

// settings is the directory of the network settings.
const settings = "/proc/sys/net/"

// Advice lists network settings that are wrong for host interfaces, with the right values.
func (Linux) Advice() (list []string) {
	for _, s := range []struct{ path, right, why string }{
		{"ipv4/conf/all/arp_ignore", "12", "else Linux answers ARP at the wires of ports too, and frames pass the chip by"},
		{"ipv4/ip_forward", "1", "else Linux does not resolve neighbours that the chip does not know"},
		{"ipv6/conf/all/forwarding", "1", "else Linux does not resolve neighbours that the chip does not know"},
	} {
		text, err := os.ReadFile(settings + s.path)
		if is := strings.TrimSpace(string(text)); err == nil && !strings.Contains(s.right, is) {
			name := strings.ReplaceAll(s.path, "/", ".")
			list = append(list, fmt.Sprintf("net.%s is %s, want %s: %s", name, is, s.right[:1], s.why))
		}
	}
	return list
}

// setAddrs sets the addresses of a device. IPv6 addresses that the kernel has created itself stay.
func setAddrs(link netlink.Link, d, old Device, whole bool) error {
	var errs []error
	have, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	there := map[netip.Prefix]bool{}
	for _, a := range have {
		p, ok := prefix(a.IPNet)
		anothers := whole && a.Flags&unix.IFA_F_DADFAILED != 0 // a host had it: Linux checks a new address again
		there[p] = !anothers
		gone := slices.Contains(old.Addrs, p) || whole && !p.Addr().IsLinkLocalUnicast()
		if ok && (anothers || gone && !slices.Contains(d.Addrs, p)) {
			errs = append(errs, netlink.AddrDel(link, &a))
		}
	}
	for _, p := range d.Addrs {
		if there[p] {
			continue
		}
		bits := p.Addr().BitLen()
		a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), bits)}}
		if err := netlink.AddrReplace(link, a); err != nil {
			errs = append(errs, fmt.Errorf("address %s: %w", p, err))
		}
	}
	return errors.Join(errs...)
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	a, ok := netip.AddrFromSlice(n.IP)
	ones, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), ones), ok
}

// Links reports host interfaces until ctx ends or the kernel has reported more than was read.
func (Linux) Links(ctx context.Context, f func(name string, index int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	updates := make(chan netlink.LinkUpdate, 256)
	err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{
		ListExisting: true, ErrorCallback: func(err error) { cancel(err) }, ReceiveBufferSize: 1 << 20,
	})
	if err != nil {
		return fmt.Errorf("ask for interfaces: %w", err)
	}
	for u := range updates {
		switch a := u.Attrs(); {
		case a.Alias != netdev.Alias:
		case u.Header.Type == unix.RTM_DELLINK:
			f(a.Name, 0)
		default:
			f(a.Name, a.Index)
		}
	}
	return context.Cause(ctx)
}

// usable holds the states of neighbours whose address is known.
const usable = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE | netlink.NUD_PERMANENT

// neighborStates holds the names of states as in hostd; permanent neighbours are in the configuration.
var neighborStates = map[int]string{
	netlink.NUD_INCOMPLETE: "INCOMPLETE", netlink.NUD_REACHABLE: reachable, netlink.NUD_STALE: "STALE",
	netlink.NUD_DELAY: "DELAY", netlink.NUD_PROBE: "PROBE", netlink.NUD_FAILED: "FAILED",
}

// Neighbors reports neighbours until ctx ends or the kernel has reported more than was read.
func (Linux) Neighbors(ctx context.Context, f func(Neighbor)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	updates := make(chan netlink.NeighUpdate, 1024)
	err := netlink.NeighSubscribeWithOptions(updates, ctx.Done(), netlink.NeighSubscribeOptions{
		ListExisting: true, ErrorCallback: func(err error) { cancel(err) }, ReceiveBufferSize: 1 << 20,
	})
	if err != nil {
		return fmt.Errorf("ask for neighbours: %w", err)
	}
	names := map[int]string{}
	for u := range updates {
		name := names[u.LinkIndex]
		if link, err := netlink.LinkByIndex(u.LinkIndex); err == nil {
			name = link.Attrs().Name
			names[u.LinkIndex] = name
		} else if u.Type == unix.RTM_NEWNEIGH {
			delete(names, u.LinkIndex)
			continue
		}
		addr, ok := netip.AddrFromSlice(u.IP)
		if !ok || name == "" || schema.InterfaceTable(name) == "" || u.Family != unix.AF_INET && u.Family != unix.AF_INET6 {
			continue
		}
		n := Neighbor{Interface: name, Addr: addr.Unmap(), Gone: u.Type == unix.RTM_DELNEIGH || u.State&usable == 0}
		if u.State&netlink.NUD_NOARP != 0 && !n.Gone {
			continue
		}
		copy(n.MAC[:], u.HardwareAddr)
		if u.Type == unix.RTM_NEWNEIGH {
			n.State, n.Permanent = neighborStates[u.State], u.State&netlink.NUD_PERMANENT != 0
		}
		f(n)
	}
	return context.Cause(ctx)
}

// SetNeighbor sets a neighbour. A neighbour to be probed is added only if there is none with its address.
func (Linux) SetNeighbor(n Neighbor, permanent bool) error {
	entry, err := entryOf(n)
	if err != nil {
		return err
	}
	entry.HardwareAddr, entry.State = net.HardwareAddr(n.MAC[:]), netlink.NUD_PROBE
	if permanent {
		return setPermanent(entry)
	}
	if err = netlink.NeighAdd(entry); errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// setPermanent sets a permanent neighbour with the protocol static, which marks it as one of ours. The library's Neigh
// has no protocol. zebra's neighbours have another one.
func setPermanent(entry *netlink.Neigh) error {
	addr := entry.IP
	if v4 := addr.To4(); v4 != nil {
		addr = v4
	}
	req := nl.NewNetlinkRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	req.AddData(&netlink.Ndmsg{
		Family: uint8(entry.Family), Index: uint32(entry.LinkIndex), State: netlink.NUD_PERMANENT,
	})
	req.AddData(nl.NewRtAttr(netlink.NDA_DST, addr))
	req.AddData(nl.NewRtAttr(netlink.NDA_LLADDR, entry.HardwareAddr))
	req.AddData(nl.NewRtAttr(netlink.NDA_PROTOCOL, []byte{unix.RTPROT_STATIC}))
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

// Configured returns the permanent neighbours with the protocol static at interfaces of the switch.
func (Linux) Configured() (list []Neighbor, err error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETNEIGH, unix.NLM_F_DUMP)
	head := &netlink.Ndmsg{}
	req.AddData(head)
	messages, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEIGH)
	if err != nil {
		return nil, fmt.Errorf("read the neighbours: %w", err)
	}
	for _, m := range messages {
		entry, err := netlink.NeighDeserialize(m)
		if err != nil {
			return nil, fmt.Errorf("read a neighbour: %w", err)
		}
		attrs, err := nl.ParseRouteAttrAsMap(m[head.Len():])
		if err != nil {
			return nil, fmt.Errorf("read a neighbour: %w", err)
		}
		by := attrs[netlink.NDA_PROTOCOL].Value
		if entry.State&netlink.NUD_PERMANENT == 0 || len(by) != 1 || by[0] != unix.RTPROT_STATIC {
			continue
		}
		link, err := netlink.LinkByIndex(entry.LinkIndex)
		addr, ok := netip.AddrFromSlice(entry.IP)
		if err != nil || !ok || schema.InterfaceTable(link.Attrs().Name) == "" {
			continue
		}
		n := Neighbor{Interface: link.Attrs().Name, Addr: addr.Unmap()}
		copy(n.MAC[:], entry.HardwareAddr)
		list = append(list, n)
	}
	return list, nil
}

// Ask makes Linux resolve a neighbour, as if there were a packet for it. A permanent one would become temporary.
func (Linux) Ask(n Neighbor) error {
	entry, err := entryOf(n)
	if err != nil {
		return err
	}
	entry.Flags = netlink.NTF_USE
	return netlink.NeighSet(entry)
}

// RemoveNeighbor removes a neighbour. It succeeds if there is none, or no such interface.
func (Linux) RemoveNeighbor(n Neighbor) error {
	entry, err := entryOf(n)
	if missing := (netlink.LinkNotFoundError{}); errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := netlink.NeighDel(entry); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

func entryOf(n Neighbor) (*netlink.Neigh, error) {
	link, err := netlink.LinkByName(n.Interface)
	if err != nil {
		return nil, err
	}
	family := unix.AF_INET
	if n.Addr.Is6() {
		family = unix.AF_INET6
	}
	return &netlink.Neigh{LinkIndex: link.Attrs().Index, Family: family, IP: n.Addr.AsSlice()}, nil
}
