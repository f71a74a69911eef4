package dropmonitor

import (
	"context"
	"net/netip"
	"strconv"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A destination is a collector of either table.
type destination struct {
	row      schema.TAMDestination
	err      error  // error in the row
	reported string // status that was last reported, for rows whose status orchagent reports
}

func (o *Orch) destinationRow(ctx context.Context, t orch.Task) {
	delete(o.destinations, t.Key)
	if t.Op == orch.Set {
		row, err := schema.ParseTAMDestination(t.Key, t.Fields)
		o.destinations[t.Key] = &destination{row: row, err: err}
	} else {
		o.Daemon.Unreport(ctx, schema.StateTAMDestination, t.Key)
	}
	o.MarkAll()
	o.changed.Publish(ctx, struct{}{})
}

func (o *Orch) collectorRow(ctx context.Context, t orch.Task) {
	delete(o.collectors, t.Key)
	if t.Op == orch.Set {
		row, err := schema.ParseCollector(t.Key, t.Fields)
		o.collectors[t.Key] = &destination{row: row.Destination(), err: err}
	}
	o.MarkAll()
	o.changed.Publish(ctx, struct{}{})
}

// destination returns the collector of a name, or nil. If both tables have a row of that name, the row of TAM_COLLECTOR
// is used, because it contains more fields. If the rows differ, the manager passes on only one of them.
func (o *Orch) destination(name string) *destination {
	if d := o.destinations[name]; d != nil {
		return d
	}
	return o.collectors[name]
}

// all returns the collectors whose routes are watched: those of TAM_COLLECTOR, and those that sessions name.
func (o *Orch) all() (list []*destination) {
	for _, d := range o.destinations {
		list = append(list, d)
	}
	for _, s := range o.Sessions {
		for _, name := range s.Row.Collectors {
			if d := o.collectors[name]; d != nil && o.destinations[name] == nil {
				list = append(list, d)
			}
		}
	}
	return list
}

// A target is a collector that can be reached, in SAI's terms, without the objects that it refers to.
type target struct {
	name      string
	to        netip.AddrPort
	from      netip.Addr
	host      bool // whether reports go to the CPU, and the host sends them
	collector []sai.Attr
}

// reach returns how reports reach a collector. The error is the reason why they cannot.
func (o *Orch) reach(d *destination) (t target, err error) {
	if d.err != nil {
		return t, d.err
	}
	row := d.row
	t = target{name: row.Name, to: netip.AddrPortFrom(row.Addr, row.Port), from: row.Source}
	switch row.VRF {
	case schema.VRFDefault:
		t.collector, err = o.leave(row.Addr, &t.from)
	case schema.VRFMgmt:
		t.host, t.collector = true, throughHost(row.Addr, &t.from)
	default:
		err = orch.Wait("VRF", row.VRF, "there is no VRF %q: the switch has default and mgmt", row.VRF)
	}
	if err != nil {
		return t, err
	}
	t.collector = append([]sai.Attr{
		{ID: sai.TAMCollectorAttrSrcIP, Value: sai.IP{Addr: t.from}},
		{ID: sai.TAMCollectorAttrDstIP, Value: sai.IP{Addr: row.Addr}},
		{ID: sai.TAMCollectorAttrTruncateSize, Value: sai.Uint(row.Truncate)},
		{ID: sai.TAMCollectorAttrDSCPValue, Value: sai.Uint(row.DSCP)},
	}, t.collector...)
	return t, nil
}

// throughHost returns the attributes for reports that the host sends. If from is nil, the loopback address stands for a
// source that the host chooses.
func throughHost(to netip.Addr, from *netip.Addr) []sai.Attr {
	if !from.IsValid() {
		if *from = netip.AddrFrom4([4]byte{127, 0, 0, 1}); to.Is6() {
			*from = netip.IPv6Loopback()
		}
	}
	return []sai.Attr{{ID: sai.TAMCollectorAttrLocalhost, Value: sai.Bool(true)}}
}

// leave returns the attributes for reports that leave by a routed port. from is their source address; nil means that of
// the port.
func (o *Orch) leave(to netip.Addr, from *netip.Addr) ([]sai.Attr, error) {
	path, err := o.routes.Path(to)
	if err != nil {
		return nil, err
	}
	out, members, lag := o.ports.LAG(path.Port)
	if !lag {
		if _, out, err = path.Exit(o.ports); err != nil {
			return nil, err
		}
	} else if len(members) == 0 {
		return nil, orch.Wait("PortChannel", path.Port, "%s has no members", path.Port)
	}
	if !from.IsValid() {
		if *from = path.AtPort; !from.IsValid() {
			return nil, orch.Wait("address", to.String(), "no address to send from to %s: the collector has no src_ip, and no "+
				"interface an address of that IP version", to)
		}
	}
	return []sai.Attr{
		{ID: sai.TAMCollectorAttrLocalhost, Value: sai.Bool(false)},
		{ID: sai.TAMCollectorAttrSrcMAC, Value: path.Source},
		{ID: sai.TAMCollectorAttrDstMAC, Value: path.MAC},
		{ID: sai.TAMCollectorAttrDestination, Value: out},
	}, nil
}

// targets returns the collectors of a session that can be reached. why contains the reasons for those that cannot be
// reached.
func (o *Orch) targets(names []string) (list []target, why []string) {
	seen := map[netip.AddrPort]string{}
	for _, name := range names {
		d := o.destination(name)
		if d == nil {
			why = append(why, "collector "+strconv.Quote(name)+" does not exist")
			continue
		}
		t, err := o.reach(d)
		switch first, twice := seen[t.to]; {
		case err != nil:
			why = append(why, "collector "+strconv.Quote(name)+": "+orch.Explain(err))
		case twice:
			why = append(why, "collector "+strconv.Quote(name)+" is where "+strconv.Quote(first)+" is: reports go there once")
		default:
			seen[t.to], list = name, append(list, t)
		}
	}
	return list, why
}

// reportDestinations reports the status of the rows of TAM_COLLECTOR: whether reports can reach the collector.
func (o *Orch) reportDestinations(ctx context.Context) {
	for name, d := range o.destinations {
		err := d.err
		if err == nil {
			_, err = o.reach(d)
		}
		status, reason := o.Daemon.Verdict(schema.StateTAMDestination, err)
		if err == nil {
			reason = ""
		}
		if now := status + ": " + reason; d.reported != now {
			o.Daemon.Report(ctx, schema.StateTAMDestination, name, status, reason)
			d.reported = now
		}
	}
}
