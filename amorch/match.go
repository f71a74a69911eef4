package amorch

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A matched is a session in the ASIC, with the packets that its flow group matches. The session gets these packets
// except those that entries of other sessions match first. Points of a path are comparable only if they get the same
// packets, so each period contains a text about them. If the packets change, the meter of the session starts again.
type matched struct {
	session *session
	region
	in    orch.ACLInForce
	marks uint8  // bits of the DSCP that the session changes
	hash  uint64 // hash of all data that other sessions depend on
	shape string
	bits  []field // fields by which the session is indexed, see indexed
}

// matches contains the sessions in the ASIC by the packets that they match.
type matches struct {
	of     map[string]*matched // matches by session name
	shapes map[string]*shape
	marked map[string]*session // sessions that changed; the next refresh looks at them
}

func newMatches() matches {
	return matches{of: map[string]*matched{}, shapes: map[string]*shape{}, marked: map[string]*session{}}
}

// A shape contains all sessions whose regions match the same bits of packets. Two such regions overlap only if the
// values of these bits are equal. Regions that may overlap with a region of another shape are found by the bits that
// both shapes match.
type shape struct {
	masks   []field
	members map[*matched]bool
	by      map[string]*cut // cuts by the masks of the common bits
}

// A cut contains the sessions of a shape by the values of some of their bits.
type cut struct {
	common []field
	of     map[string]map[*matched]bool
}

func (c *cut) add(m *matched) {
	values := key(m.bits, c.common)
	if c.of[values] == nil {
		c.of[values] = map[*matched]bool{}
	}
	c.of[values][m] = true
}

func (c *cut) remove(m *matched) {
	values := key(m.bits, c.common)
	if delete(c.of[values], m); len(c.of[values]) == 0 {
		delete(c.of, values)
	}
}

// masksOf returns the fields of a region without values.
func masksOf(fields []field) []field {
	masks := slices.Clone(fields)
	for i := range masks {
		masks[i].value = [2]uint64{}
	}
	return masks
}

// commonOf returns the bits that both lists of fields match.
func commonOf(a, b []field) (common []field) {
	for _, f := range a {
		i := slices.IndexFunc(b, func(o field) bool { return o.name == f.name })
		if i < 0 {
			continue
		}
		f.mask[0], f.mask[1] = f.mask[0]&b[i].mask[0], f.mask[1]&b[i].mask[1]
		if f.mask != [2]uint64{} {
			common = append(common, f)
		}
	}
	return common
}

// key returns a map key: the values of the fields at the bits in masks.
func key(fields, masks []field) string {
	var b []byte
	for _, m := range masks {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		b = append(b, byte(m.name))
		for w := range m.mask {
			b = binary.BigEndian.AppendUint64(b, fields[i].value[w]&m.mask[w])
			b = binary.BigEndian.AppendUint64(b, m.mask[w])
		}
	}
	return string(b)
}

func (x *matches) add(m *matched) {
	m.bits = m.indexed()
	masks := masksOf(m.bits)
	m.shape = key(masks, masks)
	s := x.shapes[m.shape]
	if s == nil {
		s = &shape{masks: masks, members: map[*matched]bool{}, by: map[string]*cut{}}
		x.shapes[m.shape] = s
	}
	x.of[m.session.Name], s.members[m] = m, true
	for _, c := range s.by {
		c.add(m)
	}
}

func (x *matches) remove(m *matched) {
	s := x.shapes[m.shape]
	delete(x.of, m.session.Name)
	for _, c := range s.by {
		c.remove(m)
	}
	if delete(s.members, m); len(s.members) == 0 {
		delete(x.shapes, m.shape)
	}
}

// overlapping calls each for the sessions whose region may overlap with the region r.
func (x *matches) overlapping(r region, each func(*matched, region)) {
	bits := r.indexed()
	masks := masksOf(bits)
	for _, s := range x.shapes {
		common := commonOf(masks, s.masks)
		at := key(common, common)
		if s.by[at] == nil {
			s.by[at] = &cut{common, map[string]map[*matched]bool{}}
			for m := range s.members {
				s.by[at].add(m)
			}
		}
		for m := range s.by[at].of[key(bits, common)] {
			if both, some := r.and(m.region); some {
				each(m, both)
			}
		}
	}
}

// look finds the packets that a session matches now, and stores them. It returns the session's previous and present
// match. Either is nil if the session matched no packets.
func (x *matches) look(s *session, rules Rules) (before, now *matched) {
	before = x.of[s.Name]
	if s.InASIC != nil {
		if in, ok := rules.InForce(s.RowInASIC.Rule, featureName); ok {
			now = &matched{session: s, in: in, region: regionOf(in.Matches, in.Ports, s.RowInASIC.Session),
				marks: s.RowInASIC.Mark.DSCPBit() | s.RowInASIC.Mark2.DSCPBit()}
			now.hash = hashOf(fmt.Sprint(now.region, in.Lowest, in.Highest, in.Changed, in.Interfaces))
		}
	}
	if before != nil && now != nil && before.hash == now.hash && before.session == now.session {
		return before, before
	}
	if before != nil {
		x.remove(before)
	}
	if now != nil {
		x.add(now)
	}
	return before, now
}

// refreshMatches updates the effects of the sessions after the changed sessions were reconciled.
func (o *Orch) refreshMatches() {
	x := &o.matched
	if len(x.marked) == 0 {
		return
	}
	var changed []region
	concerned := map[*session]bool{}
	for _, s := range x.marked {
		before, now := x.look(s, o.rules)
		if before == now && (now == nil || s.InASIC.effect != nil) {
			continue
		}
		concerned[s] = true
		for _, m := range []*matched{before, now} {
			if m != nil {
				changed = append(changed, m.region)
			}
		}
	}
	x.marked = orch.Emptied(x.marked)
	for _, r := range changed {
		x.overlapping(r, func(other *matched, _ region) { concerned[other.session] = true })
	}
	for s := range concerned {
		if m := x.of[s.Name]; m != nil && m.session == s {
			o.gets(s, x.effective(m))
		}
	}
}

// An effect describes the packets that a session gets.
type effect struct {
	text       string // the packets in words, without mark bits and interfaces; equal at all points of a path
	hash       uint64 // hash of all data that the effect depends on
	shadowed   bool   // true if it is uncertain which of two sessions gets a packet, or if that depends on marks
	interfaces string // interfaces where the packets arrive; "" if any
	perLink    bool   // true if the packets depend on fields that routers and bridges change, such as the TTL
}

// mostAbove is the maximum number of sessions with a higher priority that the text of a session lists. If there are
// more, the text contains a hash of them.
const mostAbove = 64

// effective returns the packets that a session gets: the packets that it matches, except those that sessions of higher
// priority also match.
func (x *matches) effective(m *matched) effect {
	e := effect{interfaces: m.in.Interfaces, hash: m.hash, perLink: m.region.perLink()}
	var above []*matched
	var shared []region
	x.overlapping(m.region, func(other *matched, both region) {
		switch {
		case other == m || other.in.Highest < m.in.Lowest:
			return
		case other.in.Lowest <= m.in.Highest:
			e.shadowed = true // SAI does not define which of two entries of equal priority matches
		case other.field(schema.MatchDSCP).mask[1]&uint64(m.marks) != 0:
			e.shadowed = true
		}
		e.perLink = e.perLink || other.region.perLink()
		e.hash += hashOf(fmt.Sprint(other.hash))
		above, shared = append(above, other), append(shared, both.without(m.marks))
	})
	e.text = cmp.Or(m.region.text(nil), "every packet")
	switch {
	case len(above) > mostAbove:
		var sum uint64
		for _, other := range above {
			sum += hashOf(other.region.without(m.marks).text(nil))
		}
		e.text += fmt.Sprintf("; without those of %d other flow groups #%016x", len(above), sum)
	case len(above) > 0:
		e.text += "; without " + claimedFrom(m, shared)
	}
	e.text = bounded(e.text)
	return e
}

// claimedFrom returns a canonical text about the packets that other sessions get instead of m. It omits a region that
// another region contains.
func claimedFrom(m *matched, shared []region) string {
	var parts []string
	for i, r := range shared {
		part := slices.IndexFunc(shared, func(o region) bool { return o.holds(r) && (!r.holds(o)) }) >= 0
		if part {
			continue
		}
		text := cmp.Or(shared[i].text(&m.region), "all of them")
		if !r.comesBy(m.ports) {
			text += " at some interfaces"
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}

// bounded truncates a long text and appends a hash, so that it differs from other long texts.
func bounded(text string) string {
	if len(text) <= altmark.MaxMatch {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s#%x", text[:altmark.MaxMatch-17], sum[:8])
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// gets records the packets that a session gets from now on. If they have changed, the meter of the session starts
// again.
func (o *Orch) gets(s *session, e effect) {
	b := s.InASIC
	if b.effect != nil {
		b.meter.again = b.meter.again || b.effect.hash != e.hash
	} else if b.interfaces = e.interfaces; b.profile != nil {
		if o.measuredBefore(s) {
			b.interfaces = o.places.Former(s.Name)[fieldInterfaces]
		}
		at := place{b.profile.settings.Lane, b.index}
		o.places.Put(s.Name, at.row(sumOf(s.RowInASIC), b.interfaces))
	}
	b.effect = &e
}

// noteMatch adds to a period the text that describes its packets. It flags the period if these may differ from the
// packets of other points.
func (b *binding) noteMatch(p *altmark.Period, s altmark.Session) {
	if b.effect == nil {
		return
	}
	p.Match = b.effect.text
	if b.effect.shadowed {
		p.Flags |= altmark.Shadowed
	}
	nothing := s.Role != altmark.Initiator && p.Packets == 0 && p.Captures == 0
	if nothing && b.effect.perLink || b.effect.interfaces != "" && (nothing || b.interfaces != b.effect.interfaces) {
		p.Flags |= altmark.Interfaces
	}
}
