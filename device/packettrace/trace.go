package packettrace

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
)

// An Answer describes the predicted fate of a packet.
type Answer struct {
	In    string `json:"in"`
	Bytes int    `json:"bytes"`          // without FCS
	Frame string `json:"frame"`          // hexadecimal
	Fate  string `json:"fate"`           // as a short text
	Note  string `json:"note,omitempty"` // a defect of the frame
	// Pending names a configured or learned route that is longer than the used route but not in the chip, with the
	// reason. It is "" if there is no such route.
	Pending  string    `json:"pending-route,omitempty"`
	Lookups  []Lookup  `json:"lookups"`
	Copies   []Copy    `json:"copies"`
	Counters []Counter `json:"counters"`
	// WouldPass lists single changes that would let a dropped packet pass; nil means that some copy is received.
	WouldPass *WouldPass      `json:"would-pass,omitempty"`
	History   json.RawMessage `json:"history"` // cycles at each station
}

// A Lookup is one lookup in a table.
type Lookup struct {
	Table string `json:"table"`
	At    string `json:"at,omitempty"` // which of these tables: an ACL table, a port, a VRF if there are several
	Hit   bool   `json:"hit"`
	Key   string `json:"key,omitempty"`   // key of the lookup
	Entry string `json:"entry,omitempty"` // the entry found
	Does  string `json:"does,omitempty"`  // the effects of the entry
}

// A Copy is a copy that leaves the chip, or is dropped; copy 0 is the packet itself.
type Copy struct {
	Copy    uint32    `json:"copy"`
	Fate    string    `json:"fate"` // sent, to-cpu or dropped
	Why     string    `json:"why,omitempty"`
	Trap    string    `json:"trap,omitempty"` // the trap that sent it to the CPU, or that dropped it
	Out     string    `json:"out,omitempty"`
	Queue   *uint8    `json:"queue,omitempty"`
	Cycle   uint64    `json:"cycle"`
	Bytes   int       `json:"bytes"`
	Frame   string    `json:"frame,omitempty"`
	Rewrite []Rewrite `json:"rewrite,omitempty"`
	Tables  []string  `json:"tables,omitempty"` // the tables that it ran, in order
}

// A Counter is a counter that changes, with the difference.
type Counter struct {
	Counter string `json:"counter"`
	By      int64  `json:"by"`
}

// Of predicts the fate of a packet that enters a chip now. r contains the names; nil means that there are none.
func Of(ctx context.Context, r *swss.Redis, chip *saisim.Chip, q Request) (*Answer, error) {
	f, err := chip.Fork()
	if err != nil {
		return nil, err
	}
	port, ok := f.PortByName(q.In)
	if !ok {
		return nil, fmt.Errorf("in is %.80q: the chip has no such port", q.In)
	}
	n, err := newNames(ctx, r, f.Tables(), f.PortName)
	if err != nil {
		return nil, err
	}
	n.fork = f
	frame, err := q.frame(port, n)
	if err != nil {
		return nil, err
	}
	t, err := f.Trace(port, f.Now, saisim.Frame{Data: frame})
	if err != nil {
		return nil, err
	}
	a := &Answer{In: q.In, Bytes: len(frame), Frame: hex.EncodeToString(frame), Lookups: []Lookup{}, Counters: []Counter{}}
	a.Lookups = append(a.Lookups, n.lookups(t.Findings)...)
	if tailstamp.EndUnknown(frame) {
		a.Note = noLength
	}
	dst, _ := netip.ParseAddr(headersOf(frame)["dst"])
	if a.Pending, err = n.pendingRoute(ctx, r, t, dst); err != nil {
		return nil, err
	}
	a.Copies = n.copies(t, frame)
	a.Fate = fate(a.Copies)
	if dropped(a.Copies) {
		if a.WouldPass, err = n.wouldPass(ctx, t, port, frame); err != nil {
			return nil, err
		}
	}
	for _, c := range t.Counts {
		a.Counters = append(a.Counters, Counter{n.counter(c), c.By})
	}
	a.History, err = f.History(t)
	return a, err
}

// noLength is the note about an IP frame with an invalid length.
const noLength = "the length in the IP header is not valid: the frame is matched by its headers, " +
	"but neither stamped nor routed"

// Fates of copies.
const (
	fateSent    = "sent"
	fateCPU     = "to-cpu"
	fateDropped = "dropped"
)

// dropped reports whether all copies are dropped.
func dropped(copies []Copy) bool {
	return !slices.ContainsFunc(copies, func(c Copy) bool { return c.Fate != fateDropped })
}

// fate returns the fate of all copies as a short text.
func fate(copies []Copy) string {
	var all []string
	for _, c := range copies {
		switch c.Fate {
		case fateSent:
			all = append(all, "sent by "+c.Out)
		case fateCPU:
			all = append(all, "to the CPU"+c.byTrap())
		default:
			all = append(all, "dropped: "+c.Why+c.byTrap())
		}
	}
	return strings.Join(all, "; ")
}

func (c *Copy) byTrap() string {
	if c.Trap == "" {
		return ""
	}
	return " (" + c.Trap + ")"
}

// copies returns the copies of a trace whose fate is known.
func (n *names) copies(t *saisim.PacketTrace, in []byte) []Copy {
	all := []Copy{}
	queue := map[uint32]uint8{}
	for i := range t.Moments {
		m := &t.Moments[i]
		c := Copy{Copy: m.Copy, Trap: m.Trap.String(), Cycle: uint64(m.At), Bytes: m.Len, Out: n.port(m.Port)}
		switch m.What {
		case saisim.MomentQueued:
			queue[m.Copy] = m.Queue
			continue
		case saisim.MomentSent:
			c.Fate = fateSent
		case saisim.MomentPunted:
			c.Fate = fateCPU
		case saisim.MomentDropped:
			c.Fate, c.Why = fateDropped, m.Why.String()
			if m.Copy == 0 {
				c.Out = ""
			}
		default:
			continue
		}
		if q, ok := queue[m.Copy]; ok {
			c.Queue = &q
		}
		if m.What != saisim.MomentDropped {
			c.Frame, c.Rewrite = hex.EncodeToString(m.Data), rewrites(in, m.Data)
		}
		for _, s := range t.Paths[m.Copy] {
			word := ""
			if s.Hit {
				word = " (hit)"
			}
			c.Tables = append(c.Tables, s.Table+word)
		}
		all = append(all, c)
	}
	return all
}

// does returns the effects of an entry as text.
func does(f *saisim.Finding) string {
	var words []string
	for _, x := range []struct {
		is   bool
		word string
	}{{f.Drop, "drop"}, {f.Copy, "copy to the CPU"}, {f.Cancel, "no copy to the CPU"}} {
		if x.is {
			words = append(words, x.word)
		}
	}
	return strings.Join(words, ", ")
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// lookup returns the text form of a finding.
func (n *names) lookup(f *saisim.Finding) Lookup {
	l := Lookup{Table: f.Table, Hit: f.Hit, Does: does(f)}
	switch f.Table {
	case "chip.port":
		l.Entry = n.admitted(f)
	case "chip.trap":
		l.Entry = f.Trap.String()
	case saisim.TablePreIngress, "chip.acl", "chip.egress_acl":
		n.acl(f, &l)
	case "chip.learning", "chip.fdb":
		l.Key, l.Entry = fmt.Sprintf("%s in Vlan%d", f.MAC, f.VLAN), n.name(f.Entry)
	case "chip.next_hop":
		l.Key = fmt.Sprintf("%s at %s", f.Prefix.Addr(), n.rifName(f))
		if f.Hit {
			l.Entry = f.MAC.String()
		}
	case saisim.TablePolicer:
		l.Entry = n.name(f.Entry)
	case saisim.TableQueue:
		l.At, l.Key = fmt.Sprintf("%s:%d", n.port(f.Port), f.Queue), fmt.Sprintf("%d bytes in it", f.Bytes)
	case saisim.TableTrim:
		l.At, l.Key = fmt.Sprintf("%s:%d", n.port(f.Port), f.Queue), fmt.Sprintf("%d bytes in it", f.Bytes)
		l.Does = fmt.Sprintf("trimmed to %d bytes", f.Number)
	case saisim.TableGroup:
		l.At, l.Key = fmt.Sprintf("%s:%d", n.port(f.Port), f.Queue), fmt.Sprintf("%d cells in it", f.Number)
	case saisim.TableTunnel:
		l.Entry, l.Does = "to "+f.Prefix.Addr().String(), "decapsulated"
		if !f.Hit {
			l.Does = "not decapsulated: headers are damaged, or ECN is lost"
		}
	case saisim.TableEncap, saisim.TableDecap:
		n.header(f, &l)
	case "chip.ipv4_route", "chip.ipv6_route":
		if n.several() {
			l.At = n.name(f.In)
		}
		if f.Hit {
			l.Entry = f.Prefix.String()
		}
	default:
		n.program(f, &l)
	}
	if !f.Hit && (f.Table == saisim.TablePolicer || f.Table == saisim.TableQueue || f.Table == saisim.TableGroup ||
		f.Table == saisim.TableTrim) {
		l.Does = strings.TrimPrefix(l.Does+", drop", ", ")
	}
	return l
}

// lookups returns the text forms of findings. A queue that does not admit a packet trims it if the next finding is that
// of the queue for trimmed packets.
func (n *names) lookups(all []saisim.Finding) (list []Lookup) {
	for i := range all {
		l := n.lookup(&all[i])
		if all[i].Table == saisim.TableQueue && !all[i].Hit && i+1 < len(all) && all[i+1].Table == saisim.TableTrim {
			l.Does = "trim"
		}
		list = append(list, l)
	}
	return list
}

// header describes adding or removing a header with an AltMark option.
func (n *names) header(f *saisim.Finding, l *Lookup) {
	l.Key, l.Entry = fmt.Sprintf("FlowMonID %d", f.Number), "to "+f.Prefix.Addr().String()
	switch {
	case !f.Hit:
		l.Does = "not taken off: headers are damaged"
	case f.Table == saisim.TableEncap:
		l.Does = "put an IPv6 header with an AltMark option around it"
	default:
		l.Does = "take off the IPv6 header with the AltMark option"
	}
}

// program describes a lookup in a table of the program.
func (n *names) program(f *saisim.Finding, l *Lookup) {
	if f.Port != saisim.CPUPort {
		l.At = n.port(f.Port)
	}
	if f.Hit {
		l.Entry = fmt.Sprintf("entry %d", f.Number)
	}
}

// admitted returns the router interface or VLAN to which a packet is admitted.
func (n *names) admitted(f *saisim.Finding) string {
	switch {
	case !f.Hit:
		return ""
	case f.In != config.None:
		return "router interface " + n.rifName(f)
	}
	return fmt.Sprintf("Vlan%d", f.VLAN)
}

// acl describes a lookup in an ACL table.
func (n *names) acl(f *saisim.Finding, l *Lookup) {
	l.At, l.Entry = n.name(f.In), n.name(f.Entry)
	if f.Table == "chip.egress_acl" {
		l.At += " at " + n.port(f.Port)
	}
	if f.Hit {
		l.Does = n.actions(f)
	}
}

// actions returns the actions of an ACL entry as text.
func (n *names) actions(f *saisim.Finding) string {
	words := []string{orNone(does(f), "forward")}
	for _, a := range n.entry[f.Entry].Actions {
		switch a.Kind {
		case config.ActRedirect:
			words = append(words, "redirect to "+n.name(a.Of[0]))
		case config.ActMirrorIngress, config.ActMirrorEgress:
			words = append(words, "mirror")
		case config.ActSample:
			words = append(words, "sample")
		case config.ActSetTC:
			words = append(words, fmt.Sprintf("traffic class %d", a.Number))
		case config.ActSetDSCP:
			words = append(words, fmt.Sprintf("DSCP %d", a.Number))
		case config.ActStamp:
			words = append(words, "stamp")
		case config.ActNoLearning:
			words = append(words, "do not learn")
		case config.ActNoTrim:
			words = append(words, "do not trim")
		case config.ActSetMeta:
			words = append(words, fmt.Sprintf("metadata %#x", a.Number))
		}
	}
	return strings.Join(words, ", ")
}

// counter returns the name of a counter.
func (n *names) counter(c saisim.CountChange) string {
	switch c.Kind {
	case "port":
		return fmt.Sprintf("%s %s", n.port(c.Port), c.Name)
	case "priority-group":
		return fmt.Sprintf("priority group %s:%d %s", n.port(c.Port), c.Queue, c.Name)
	case "queue":
		return fmt.Sprintf("queue %s:%d %s", n.port(c.Port), c.Queue, c.Name)
	case "altmark":
		return fmt.Sprintf("alternate marking, flow %d colour %d: %s", c.Index, c.Queue, c.Name)
	case "record":
		return fmt.Sprintf("table recording %s: %s", c.Label, c.Name)
	case "router-interface":
		return fmt.Sprintf("%s %s %s", c.Kind, n.rifName(&saisim.Finding{In: c.Of, VLAN: uint16(c.Index)}), c.Name)
	}
	return fmt.Sprintf("%s %s %s", c.Kind, n.name(c.Of), c.Name)
}
