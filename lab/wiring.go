package lab

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"tamtam/lab/chance"
)

// defaultDelay is the delay of a link whose topology gives none: 100 m of fibre.
const defaultDelay = 500 * Nanosecond

func (l *Lab) makeLinks(context.Context) error {
	for i := range l.t.Hosts {
		h := &station{host: &l.t.Hosts[i], mac: l.t.Hosts[i].MAC, scratch: make([]byte, 0, maxFrameSize),
			flows: make([]*arrivals, len(l.t.Traffic)+1), strays: make([]uint64, len(l.t.Traffic)+1)}
		if h.mac == (MAC{}) {
			h.mac = madeMAC("host/" + h.host.Name)
		}
		l.stations, l.hosts[h.host.Name] = append(l.stations, h), h
	}
	for i := range l.t.Links {
		if err := l.makeLink(&l.t.Links[i]); err != nil {
			return fmt.Errorf("%slink %q: %w", l.t.Where(fmt.Sprintf("links[%d]", i)), l.t.Links[i].name(), err)
		}
	}
	return nil
}

func (l *Lab) makeLink(t *Link) error {
	var ends [2]*end
	var mbps uint32
	for i, text := range []string{t.A, t.B} {
		e, err := l.endOf(text)
		if err != nil {
			return err
		}
		ends[i] = e
		if e.host == nil && mbps != 0 && mbps != e.port.mbps {
			return fmt.Errorf("%s runs at %d Mb/s and %s at %d: want ports of one speed", t.A, mbps, text, e.port.mbps)
		}
		if e.host == nil {
			mbps = e.port.mbps
		}
	}
	if t.Rate != 0 && uint64(t.Rate) != uint64(mbps)*1_000_000 {
		return fmt.Errorf("rate %v: its ports run at %dMbps: want that, or another speed of the ports in their "+
			"configuration", t.Rate, mbps)
	}
	k := &link{Link: t, name: t.name()}
	for i := range ends {
		from, to := ends[i], ends[1-i]
		w := &wire{name: k.name, from: from, to: to, link: k, Impairment: t.Impairment, passage: passage{earliest: forever}}
		dir := fmt.Sprintf("link/%s/%s/", k.name, from.text)
		w.loss, w.jitter, w.more = chance.New(l.opts.Seed, dir+"loss"), chance.New(l.opts.Seed,
			dir+"jitter"), chance.New(l.opts.Seed, dir+"more")
		k.wires[i], to.wire = w, w
		if from.host == nil {
			from.node.out[from.port.id] = w
		}
		if to.host == nil {
			to.nth = to.node.in
			to.node.in++
		}
	}
	for i, e := range ends {
		if e.host != nil {
			if err := l.connect(e.host, ends[1-i].node, k.wires[i], k.wires[1-i], mbps); err != nil {
				return err
			}
		}
	}
	l.links = append(l.links, k)
	if ends[0].host == nil && ends[1].host == nil {
		l.lookahead = min(l.lookahead, l.t.leastDelay(t))
	}
	return nil
}

// connect connects a host to its switch.
func (l *Lab) connect(h *station, n *node, up, down *wire, mbps uint32) error {
	const bytePerMbps = 8_000_000 // duration in ps
	if bytePerMbps%mbps != 0 {
		return fmt.Errorf("its rate is %d Mb/s: a host wants one at which a byte takes whole picoseconds", mbps)
	}
	h.byte, h.up, h.down = Time(bytePerMbps/mbps), up, down
	n.hosts = append(n.hosts, h)
	if h.gateway = h.host.Gateway; h.gateway == (MAC{}) {
		h.gateway = MAC(n.sim.Chip.Tables().Switch.MAC)
	}
	return nil
}

func (l *Lab) endOf(text string) (*end, error) {
	name, port, isPort := strings.Cut(text, ":")
	if !isPort {
		return &end{text: text, host: l.hosts[name]}, nil
	}
	n := l.byName[name]
	for _, p := range n.ports {
		if p.name == port {
			return &end{text: text, node: n, port: p}, nil
		}
	}
	var names []string
	for _, p := range n.ports {
		names = append(names, p.name)
	}
	problems, _ := n.problems(context.Background())
	return nil, fmt.Errorf("%q: the switch has no port %q; it has %s%s", text, port, Summary(names), problems)
}

// Summary returns a list of the first eight names, followed by the number of the remaining ones.
func Summary(names []string) string {
	const show = 8
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > show:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:show], ", "), len(names)-show)
	}
	return strings.Join(names, ", ")
}

func (l *Lab) makeTraffic(context.Context) error {
	for i := range l.t.Traffic {
		t := &l.t.Traffic[i]
		from := l.hosts[t.From]
		h := l.header(t)
		s, err := newSource(i+1, t, h, l.opts.Seed, maxTime, l.t.Resolve(t.File))
		if err != nil {
			return fmt.Errorf("%s%w", l.t.Where(fmt.Sprintf("traffic[%s]", t.Name)), err)
		}
		l.sources = append(l.sources, s)
		from.sources = append(from.sources, s)
		for _, to := range l.stations {
			if t.To == "" || to.host.Name == t.To {
				to.flows[i+1] = &arrivals{any: t.To == ""}
			}
		}
	}
	vlans := map[string]uint16{} // VLAN of each host that sends only tagged frames
	for i := range l.t.Traffic {
		vlans[l.t.Traffic[i].From] = l.t.Traffic[i].VLAN
	}
	for _, h := range l.stations {
		if !h.host.Silent && h.up != nil {
			h.announce(vlans[h.host.Name])
		}
	}
	return nil
}

// header returns the header of a flow group's frames.
func (l *Lab) header(t *Traffic) header {
	if t.Kind == "pcap" {
		return header{}
	}
	from, to := l.hosts[t.From], l.hosts[t.To]
	h := header{
		srcMAC: from.mac, dstMAC: to.mac, vlan: t.VLAN, pcp: t.PCP, proto: protoUDP,
		srcPort: t.SrcPort, dstPort: t.DstPort, tos: t.DSCP<<2 | t.ECN, ttl: t.TTL, altMark: t.AltMark,
		flowMonID: t.flowMonID(),
	}
	h.src, h.dst = t.addresses(from.host, to.host)
	if t.Protocol == "tcp" {
		h.proto = protoTCP
	}
	if h.srcPort == 0 {
		h.srcPort = 1024
	}
	if h.dstPort == 0 {
		h.dstPort = 9
	}
	if h.ttl == 0 {
		h.ttl = 64
	}
	if !onLink(from.host, h.dst) {
		h.dstMAC = from.gateway
	}
	return h
}

// onLink reports whether an address is in one of a host's subnets.
func onLink(h *Host, a netip.Addr) bool {
	for _, p := range h.IPs {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// flowMonID returns the FlowMonID of the frames' AltMark option.
func (t *Traffic) flowMonID() uint32 {
	if t.FlowMonID == nil {
		return 1
	}
	return *t.FlowMonID
}

// addresses returns the source and destination of a flow group. Addresses that are not configured come from the first
// pair of one family.
func (t *Traffic) addresses(from, to *Host) (src, dst netip.Addr) {
	src, dst = t.Src, t.Dst
	for _, d := range to.IPs {
		for _, s := range from.IPs {
			if d.Addr().Is4() != s.Addr().Is4() ||
				src.IsValid() && src.Is4() != d.Addr().Is4() || dst.IsValid() && dst.Is4() != s.Addr().Is4() {
				continue
			}
			if !dst.IsValid() {
				dst = d.Addr()
			}
			if !src.IsValid() {
				src = s.Addr()
			}
			return src, dst
		}
	}
	return src, dst
}
