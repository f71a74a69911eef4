package packettrace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Change is a change of one entry, with the fate that the packet would have after it.
type Change struct {
	Change string `json:"change"`
	Fate   string `json:"fate"`
}

// A WouldPass lists the tried changes of single entries with which a packet would be sent. Further changes were not
// tried for lack of time, so their effect is unknown.
type WouldPass struct {
	If       []Change `json:"if"`
	Tried    int      `json:"tried"`
	NotTried int      `json:"not-tried"`
}

// frameOverhead is the largest number of bytes that a frame adds to its IP packet: Ethernet, tag, FCS.
const frameOverhead = 22

// Limits for the changes that are tried. The fork of a chip with large tables is slow.
const (
	mostTried = 24
	tryFor    = 8 * time.Second
)

// A candidate is a change that may let the packet pass. The operator changes one entry, but the chip may need several
// changes. For example, the MTU of a port is also that of its router interface.
type candidate struct {
	what string
	rows config.Change
}

// wouldPass tries changes that may let a dropped packet pass, one entry at a time.
func (n *names) wouldPass(
	ctx context.Context, t *saisim.PacketTrace, port saisim.PortID, frame []byte,
) (*WouldPass, error) {
	d := candidateFinder{names: n, in: port, frame: headersOf(frame)}
	for i := range t.Moments {
		if t.Moments[i].What == saisim.MomentDropped {
			d.reason(t.Moments[i].Why, t.Moments[i].Port)
		}
	}
	for i := range t.Findings {
		d.finding(&t.Findings[i])
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	w := &WouldPass{If: []Change{}}
	for i, x := range d.list {
		if i == mostTried || ctx.Err() != nil {
			w.NotTried = len(d.list) - i
			break
		}
		w.Tried++
		f, err := n.fork.With(x.rows)
		if err != nil {
			return nil, err
		}
		again, err := f.Trace(port, f.Now, saisim.Frame{Data: frame})
		if err != nil {
			return nil, err
		}
		if copies := n.copies(again, frame); passes(copies) {
			w.If = append(w.If, Change{x.what, fate(copies)})
		}
	}
	return w, nil
}

func passes(copies []Copy) bool {
	return slices.ContainsFunc(copies, func(c Copy) bool { return c.Fate == fateSent })
}

// A candidateFinder collects candidates: changes of entries that may block a packet. Only the chip can verify them.
type candidateFinder struct {
	*names
	in    saisim.PortID
	frame header
	list  []candidate
}

func (d *candidateFinder) try(row config.Row, gone bool, format string, args ...any) {
	d.list = append(d.list, candidate{fmt.Sprintf(format, args...), config.Change{{Row: row, Gone: gone}}})
}

// finding adds candidates for the entry that was found in a table, or for its absence.
func (d *candidateFinder) finding(f *saisim.Finding) {
	switch f.Table {
	case "chip.acl", "chip.egress_acl":
		if e, ok := d.entry[f.Entry]; ok && (f.Drop || e.Of(config.ActRedirect) != nil) {
			d.try(e, true, "without ACL rule %s", d.name(e.ID))
		}
	case "chip.trap":
		d.trap(f)
	case "chip.fdb", "chip.learning":
		d.address(f)
	case "chip.ipv4_route", "chip.ipv6_route":
		this := func(r config.Route) bool { return r.Router == f.In && r.Prefix == f.Prefix }
		if r, ok := find(d.tables.Routes, this); ok && f.Drop {
			r.Action = config.Forward
			d.try(r, false, "route %s with action forward", r.Prefix)
		}
	case "chip.next_hop":
		d.neighborOf(f)
	}
}

func (d *candidateFinder) trap(f *saisim.Finding) {
	r, ok := find(d.tables.Traps, func(r config.TrapRule) bool { return r.Trap == f.Trap })
	if ok && f.Drop {
		r.Action = config.Forward
		d.try(r, false, "trap %s with action forward", r.Trap)
	}
}

func (d *candidateFinder) address(f *saisim.Finding) {
	at := fmt.Sprintf("%s in Vlan%d", f.MAC, f.VLAN)
	row, ok := find(d.tables.FDB, func(r config.FDBEntry) bool { return r.VID == f.VLAN && r.MAC == f.MAC })
	if ok && f.Drop {
		row.Action = config.Forward
		d.try(row, false, "FDB entry %s with action forward", at)
	}
	if ok {
		d.try(row, true, "without FDB entry %s", at)
	}
	if f.Table == "chip.fdb" && f.Hit {
		if b, ok := find(d.tables.BridgePorts, func(b config.BridgePort) bool { return b.ID == f.Entry }); ok {
			d.bridgePort(b, f.VLAN)
		}
	}
}

// bridgePort adds candidates that set a bridge port up or add it to a VLAN.
func (d *candidateFinder) bridgePort(b config.BridgePort, vid uint16) {
	if !b.Admin {
		b.Admin = true
		d.try(b, false, "%s up in the bridge", d.name(b.ID))
	}
	v, ok := find(d.tables.VLANs, func(v config.VLAN) bool { return v.VID == vid })
	if !ok || slices.ContainsFunc(v.Members, func(m config.VLANMember) bool { return m.BridgePort == b.ID }) {
		return
	}
	tagging := config.Untagged
	if d.frame["vlan"] == strconv.Itoa(int(vid)) {
		tagging = config.Tagged
	}
	v.Members = append(slices.Clone(v.Members), config.VLANMember{BridgePort: b.ID, Tagging: tagging})
	d.try(v, false, "%s a member of Vlan%d", d.name(b.ID), vid)
}

// neighborOf adds candidates for the neighbour of a next hop.
func (d *candidateFinder) neighborOf(f *saisim.Finding) {
	i, ok := d.rif(f)
	if !ok {
		return
	}
	ip := f.Prefix.Addr()
	if !f.Hit {
		d.newNeighbor(i, ip)
		return
	}
	x, ok := find(d.tables.Neighbors, func(x config.Neighbor) bool { return x.Interface == i.ID && x.IP == ip })
	if ok && x.Action != config.Forward {
		x.Action = config.Forward
		d.try(x, false, "neighbour %s at %s with action forward", ip, d.name(i.ID))
	}
	d.routerInterface(i)
}

// someMAC is the address of a neighbour that does not exist.
var someMAC = config.MAC{2, 0, 0, 0, 0, 2}

func (d *candidateFinder) newNeighbor(i config.Interface, ip netip.Addr) {
	x := config.Neighbor{Interface: i.ID, IP: ip, MAC: someMAC, Action: config.Forward, HostRoute: true}
	d.try(x, false, "%s a neighbour at %s", ip, d.name(i.ID))
}

// routerInterface adds candidates for the settings of a router interface.
func (d *candidateFinder) routerInterface(i config.Interface) {
	name := d.name(i.ID)
	if !i.Up4 || !i.Up6 {
		up := i
		up.Up4, up.Up6 = true, true
		d.try(up, false, "router interface %s up for IPv4 and IPv6", name)
	}
	if !i.Loopback {
		loop := i
		loop.Loopback = true
		d.try(loop, false, "router interface %s sending packets back where they came from", name)
	}
	i.MTU = maxSize
	d.try(i, false, "%s with an MTU of %d", name, maxSize)
	if p, ok := find(d.tables.Ports, func(p config.Port) bool { return p.ID == i.On }); ok {
		p.MTU = maxSize + frameOverhead
		d.list[len(d.list)-1].rows.Put(p)
	}
}

// reason adds changes that may prevent drops for a reason at a port.
func (d *candidateFinder) reason(why drop.Reason, at saisim.PortID) {
	switch why {
	case drop.PortDown, drop.EgressDown:
		d.portUp(at)
	case drop.Oversize, drop.EgressMTU:
		d.port(at, func(p *config.Port) { p.MTU = maxSize + frameOverhead }, fmt.Sprintf("with an MTU of %d", maxSize))
	case drop.TagFilter, drop.NoVLAN, drop.NotMember, drop.Learning:
		d.admission()
	case drop.NoLAGMember:
		for _, l := range d.tables.LAGs {
			for _, m := range l.Members {
				d.portUp(m.Port)
			}
		}
	case drop.Miss, drop.NoDestination:
		d.flood()
	case drop.NoRoute, drop.Route, drop.NoNeighbor, drop.NoNextHop:
		d.route()
	case drop.Blackhole:
		d.hostRoute()
	case drop.RouterDown, drop.RouterOutDown:
		if i, ok := d.router(); ok {
			r, _ := find(d.tables.Routers, func(r config.Router) bool { return r.ID == i.Router })
			r.Up4, r.Up6 = true, true
			d.try(r, false, "the virtual router up for IPv4 and IPv6")
			d.routerInterface(i)
		}
	case drop.QueueLimit, drop.WRED, drop.Buffer:
		d.queues(at)
	}
}

// router returns the router interface at which the packet arrives.
func (d *candidateFinder) router() (config.Interface, bool) {
	var tag *uint16
	if v, err := strconv.ParseUint(d.frame["vlan"], 10, 16); err == nil {
		vid := uint16(v)
		tag = &vid
	}
	return d.at(d.in, tag)
}

func (d *candidateFinder) portUp(id saisim.PortID) {
	if p, ok := find(d.tables.Ports, func(p config.Port) bool { return p.Port == id }); ok && !(p.Admin && p.Link) {
		what := "up"
		if p.Admin {
			what = "with a link"
		}
		d.port(id, func(p *config.Port) { p.Admin, p.Link = true, true }, what)
	}
}

// port adds a changed port as a candidate.
func (d *candidateFinder) port(id saisim.PortID, change func(*config.Port), what string) {
	if p, ok := find(d.tables.Ports, func(p config.Port) bool { return p.Port == id }); ok {
		change(&p)
		d.try(p, false, "%s %s", d.names.port(id), what)
	}
}

// admission adds candidates for the tagging and VLANs that the port admits.
func (d *candidateFinder) admission() {
	p, ok := find(d.tables.Ports, func(p config.Port) bool { return p.Port == d.in })
	if !ok {
		return
	}
	on, vid := p.ID, p.PVID
	d.port(d.in, func(p *config.Port) { p.DropTagged, p.DropUntagged = false, false }, "taking tagged and untagged frames")
	for _, l := range d.tables.LAGs {
		if slices.ContainsFunc(l.Members, func(m config.LAGMember) bool { return m.Port == d.in }) {
			on, vid = l.ID, l.PVID
			l.DropTagged, l.DropUntagged = false, false
			d.try(l, false, "%s taking tagged and untagged frames", d.name(l.ID))
		}
	}
	if v, err := strconv.ParseUint(d.frame["vlan"], 10, 16); err == nil && v != 0 {
		vid = uint16(v)
	}
	if b, ok := find(d.tables.BridgePorts, func(b config.BridgePort) bool { return b.On == on }); ok {
		d.bridgePort(b, vid)
		if b.Learning != config.Learn {
			b.Learning = config.Learn
			d.try(b, false, "%s learning addresses", d.name(b.ID))
		}
	}
}

// flood adds candidates that let a VLAN, and the switch, flood.
func (d *candidateFinder) flood() {
	for _, v := range d.tables.VLANs {
		if v.NoFlood != (config.Flood{}) {
			v.NoFlood = config.Flood{}
			d.try(v, false, "Vlan%d flooding", v.VID)
		}
	}
	if s := d.tables.Switch; s.NoFlood != (config.Flood{}) {
		s.NoFlood = config.Flood{}
		d.try(s, false, "the switch flooding")
	}
}

// mostHops is the largest number of next hops that are tried for a missing route.
const mostHops = 4

// route adds candidates for the route to the destination.
func (d *candidateFinder) route() {
	dst, err := netip.ParseAddr(d.frame["dst"])
	if err != nil {
		return
	}
	in, _ := d.router()
	best, found := config.Route{}, false
	for _, r := range d.tables.Routes {
		if r.Router == in.Router && r.Prefix.Contains(dst) && (!found || r.Prefix.Bits() > best.Prefix.Bits()) {
			best, found = r, true
		}
	}
	if i, ok := find(d.tables.Interfaces, func(i config.Interface) bool { return i.ID == best.NextHop }); ok && found {
		d.newNeighbor(i, dst)
		return
	}
	d.hostRoute()
}

// hostRoute adds host routes by existing next hops as candidates.
func (d *candidateFinder) hostRoute() {
	dst, err := netip.ParseAddr(d.frame["dst"])
	if err != nil {
		return
	}
	in, _ := d.router()
	n := 0
	for _, h := range d.tables.NextHops {
		if h.IP.Is4() != dst.Is4() || n == mostHops {
			continue
		}
		n++
		r := config.Route{Router: in.Router, Prefix: netip.PrefixFrom(dst, dst.BitLen()), Action: config.Forward,
			NextHop: h.ID}
		d.try(r, false, "a route %s via %s at %s", r.Prefix, h.IP, d.name(h.Interface))
	}
}

// queues adds candidates without the limits of a port's queues.
func (d *candidateFinder) queues(id saisim.PortID) {
	p, ok := find(d.tables.Ports, func(p config.Port) bool { return p.Port == id })
	if !ok {
		return
	}
	for i := range p.QoS.Queues {
		q := &p.QoS.Queues[i]
		free := *q
		free.Limit.Static, free.Limit.Dynamic = false, false
		for colour := range free.WRED {
			free.WRED[colour].Drop = false
		}
		if free != *q {
			d.port(id, func(p *config.Port) {
				p.QoS.Queues = slices.Clone(p.QoS.Queues)
				p.QoS.Queues[i] = free
			}, fmt.Sprintf("with queue %d without limit and WRED", i))
		}
	}
}

func find[R any](rows []R, is func(R) bool) (r R, ok bool) {
	if i := slices.IndexFunc(rows, is); i >= 0 {
		return rows[i], true
	}
	return r, false
}
