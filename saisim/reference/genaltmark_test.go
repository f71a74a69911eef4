package reference_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/reference"
	"tamtam/tam/altmark"
)

// A marker makes profiles of alternate marking and ACL entries for flows.
type marker struct {
	marking bool    // true if there are profiles, and packets have marks
	table   sai.OID // table of flow entries
	freed   uint32  // flow index whose entries were removed last
	// generations holds the generations of flows by index, of the fast engine and of the reference.
	generations map[uint32][2]uint64
}

// furnishMarking makes profiles, and two entries for each of some flows.
func (g *gen) furnishMarking() {
	g.marking, g.generations = g.prof.AltMark.Flows > 0, map[uint32][2]uint64{}
	for lane := range 1 + g.IntN(4) {
		g.profileOp(lane)
	}
	with := []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress}
	for _, f := range []sai.AttrID{sai.ACLEntryAttrFieldACLUserMeta, sai.ACLEntryAttrFieldIPProtocol,
		sai.ACLEntryAttrFieldInPorts,
		sai.ACLEntryAttrFieldDSCP, sai.ACLEntryAttrFieldACLIPType} {
		with = append(with, tableField(f), sai.Bool(true))
	}
	g.table = g.create(sai.ObjectTypeACLTable, with...)
	for range 2 + g.IntN(6) {
		g.flowOp()
	}
	if g.chance(10) { // a small number: most packets do not match
		for range 1 + g.IntN(3) {
			g.flowMonOp()
		}
	}
}

// bindFlows binds the table of flow entries.
func (g *gen) bindFlows() {
	if g.table == sai.NullOID {
		return
	}
	g.setOf(sai.ObjectTypeSwitch, g.sw, sai.SwitchAttrIngressACL, g.table)
	for range g.IntN(4) {
		g.set(sai.ObjectTypePort, sai.PortAttrIngressACL, g.table)
	}
}

// markingOp changes profiles and the entries of flows.
func (g *gen) markingOp() {
	switch n := g.IntN(10); {
	case !g.marking:
	case n < 3:
		g.profileOp(g.lane())
	case n < 4:
		g.removeAny(sai.ObjectTypeGenericProgrammable)
		g.bindFlows()
	case n < 5:
		g.forgetFlow()
	case n < 6: // another index, or a value that is not for alternate marking
		g.set(sai.ObjectTypeACLEntry, sai.ACLEntryAttrActionSetACLMetaData,
			sai.Do(sai.Uint(pick(g, g.flowValue(g.usedLane(), g.IntN(2), g.flowIndex()), 3))))
	case n < 7 && g.chance(10):
		g.flowMonOp()
	default:
		g.flowOp()
	}
}

// flowMonID returns a FlowMonID that packets have most of the time.
func (g *gen) flowMonID() uint32 {
	return pick[uint32](g, 0, 1, 0x12345, altmark.MaxFlowMonID, g.Uint32()>>12)
}

// flowMonOp makes the entries of an index match a FlowMonID.
func (g *gen) flowMonOp() {
	text := fmt.Appendf(nil, `{"attributes":[{"flow":{"value":{"index":%d,"flow-mon-id":%d}}}]}`, g.flowIndex(),
		g.flowMonID())
	if g.chance(30) {
		g.set(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry, sai.Bytes(text))
		return
	}
	g.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectFlow),
		sai.GenericProgrammableAttrEntry, sai.Bytes(text))
}

// lane returns a lane, sometimes one that does not exist.
func (g *gen) lane() int { return pick(g, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8) }

// usedLane returns the lane of a profile most of the time.
func (g *gen) usedLane() int {
	if rows := g.chip.Tables().AltMarks; len(rows) > 0 && g.chance(90) {
		return pick(g, rows...).Lane
	}
	return g.lane()
}

// flowIndexes returns the indexes that entries use.
func (g *gen) flowIndexes() []uint32 { return []uint32{0, 1, 2, 3, 4, g.prof.AltMark.Flows - 1} }

// forgetFlow removes all entries of an index, so that a later flow may use it.
func (g *gen) forgetFlow() {
	g.freed = pick(g, g.flowIndexes()...)
	for _, e := range g.chip.Tables().ACLEntries {
		for _, a := range e.Actions {
			if a.Kind == config.ActSetMeta && uint32(a.Number)&(0xf<<28|1<<23-1) == 0xa<<28|g.freed {
				_ = g.chip.Remove(context.Background(), sai.Obj(sai.ObjectTypeACLEntry, sai.OID(e.ID)))
			}
		}
	}
}

// flowIndex returns an index, sometimes one that the chip does not have.
func (g *gen) flowIndex() uint32 {
	if g.chance(30) {
		return g.freed
	}
	return pick(g, append(g.flowIndexes(), g.prof.AltMark.Flows)...)
}

// flowValue returns the metadata of a flow's entry.
func (g *gen) flowValue(lane, colour int, index uint32) uint32 {
	return 0xa<<28 | uint32(lane)<<24 | uint32(colour)<<23 | index
}

// flowOp makes the two entries of a flow. The flow matches all packets, or some.
func (g *gen) flowOp() { g.flowOf(g.usedLane(), g.flowIndex()) }

// flowOf does the same as flowOp, for a lane and an index.
func (g *gen) flowOf(lane int, index uint32) {
	with := []any{sai.ACLEntryAttrTableID, g.table, sai.ACLEntryAttrPriority, sai.Uint(1 + g.IntN(5))}
	switch g.IntN(6) {
	case 0:
		with = append(with, sai.ACLEntryAttrFieldIPProtocol, g.number(8, 6, 17))
	case 1:
		with = append(with, sai.ACLEntryAttrFieldInPorts, g.matchOf(sai.ACLEntryAttrFieldInPorts))
	case 2:
		with = append(with, sai.ACLEntryAttrFieldACLIPType, sai.Match(pick(g, sai.ACLIPTypeIPv4Any, sai.ACLIPTypeIPv6Any),
			nil))
	}
	if g.chance(10) {
		with = append(with, sai.ACLEntryAttrActionSetDSCP, sai.Do(sai.Uint(g.IntN(64))))
	}
	for colour := range 2 {
		entry := append([]any{sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(g.flowValue(lane, colour, index)))},
			with...)
		if !g.chance(5) { // otherwise the entry is for packets of both colours and without marks
			entry = append(entry, sai.ACLEntryAttrFieldACLUserMeta,
				sai.Match(sai.Uint(uint64(8|colour)<<(4*lane)&0xffffffff), sai.Uint(uint64(9)<<(4*lane)&0xffffffff)))
		}
		label := sai.Text(fmt.Sprint("am", len(g.counters[g.table]))) // so that no two entries have the same label
		if x := g.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, g.table, sai.ACLCounterAttrLabel, label,
			sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrEnableByteCount,
			sai.Bool(true)); x != sai.NullOID {
			g.counters[g.table] = append(g.counters[g.table], x)
			entry = append(entry, sai.ACLEntryAttrActionCounter, sai.Do(x))
		}
		g.create(sai.ObjectTypeACLEntry, entry...)
	}
}

// profileOp makes a profile, or changes one.
func (g *gen) profileOp(lane int) {
	if g.wrapping != nil && g.chance(80) {
		g.encapProfileOp(lane)
		return
	}
	n := pick(g, altmark.MinInterval, altmark.MinInterval, altmark.MinInterval, altmark.MinInterval+1,
		altmark.MinInterval+2)
	if g.slow {
		n = pick(g, -1, 0, 1, altmark.MaxInterval)
	}
	word := func(words []string) string { return pick(g, words...) }
	option := []string{"ipv6-altmark-l", "ipv6-altmark-d"}
	marks := append(altmark.MarkWords(), option...)
	v := map[string]any{
		"lane": lane, "role": word(append(altmark.RoleWords(), "initiator")),
		"method":   word(append(altmark.MethodWords(), "muxed", "double")),
		"interval": n, "mark": word(marks), "slot-sync": true,
		"guard-ns": g.Uint64N(uint64(n.Duration()) / 3), "early-ns": g.Uint64N(uint64(n.Duration()) / 3),
	}
	v["drop-marked"] = v["role"] == "initiator" && g.chance(30)
	v["clear"] = v["role"] == "terminator" && g.chance(50)
	switch v["method"] {
	case "double":
		i := g.IntN(2)
		v["mark"], v["mark2"] = option[i], option[1-i]
		if g.chance(70) {
			i := g.IntN(7)
			v["mark"], v["mark2"] = marks[i], marks[(i+1+g.IntN(6))%7] // two different marks of any kind
		}
	case "muxed":
		v["slot-sync"] = g.chance(50)
	}
	if g.chance(75) { // the chip refuses mean-delay for pulses
		v["mean-delay"] = v["method"] != "pulse" || g.chance(5)
	}
	text, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{"profile": map[string]any{"value": v}}}})
	if err != nil {
		panic(err) // cannot happen: v contains only words and numbers
	}
	if g.chance(15) {
		g.set(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry, sai.Bytes(text))
		return
	}
	g.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectProfile),
		sai.GenericProgrammableAttrEntry, sai.Bytes(text))
}

// dscp returns a DSCP. If there are profiles, it often has mark bits.
func (g *gen) dscp() byte {
	if g.marking && g.chance(60) {
		return byte(g.IntN(64))
	}
	return pick[byte](g, 0, 0, 0, 0, 46)
}

// optionsHeader appends a header of hop-by-hop or destination options. It contains an AltMark option or something
// similar.
func (g *gen) optionsHeader(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0)
	for g.chance(30) {
		// Pad1, PadN, an unknown option, an option that is too short
		b = pick(g, append(b, 0), append(b, 1, 0), append(b, 0x3e, 1, 7), append(b, 0x12, 3, 1, 2, 3))
	}
	for range 1 + g.IntN(2) {
		if b = append(b, 0x12, 4); g.chance(3) {
			b[len(b)-1] = byte(g.IntN(20)) // damages the option's length
		} else if g.chance(60) {
			b = binary.BigEndian.AppendUint32(b, g.flowMonID()<<12|g.Uint32()&0xfff)
			continue
		}
		b = g.garbage(b, 4)
	}
	for (len(b)-at)%8 != 0 {
		b = append(b, 0)
	}
	b[at+1] = byte((len(b)-at)/8 - 1)
	return b
}

// pause returns the number of cycles between two frames. With marks, it is sometimes a large part of a period.
func (g *gen) pause() uint64 {
	if !g.marking || !g.chance(6) {
		return 0
	}
	return g.Uint64N(g.prof.ClockHz/pick[uint64](g, 1000, 4000, 16_000) + 1)
}

// lateness returns the number of cycles by which a frame is given late. It is mostly zero, otherwise between a moment
// and some periods, and sometimes more than the chip has run.
func (g *gen) lateness() saisim.Cycle {
	if !g.marking || !g.chance(8) {
		return 0
	}
	unit := g.prof.ClockHz
	if g.slow {
		unit *= 1000
	}
	return pick(g, 1, saisim.Cycle(g.Uint64N(100)), saisim.Cycle(g.Uint64N(unit/pick[uint64](g, 100, 300, 1000, 8000)+1)),
		1<<62)
}

// stepWithinPeriods sets the clock to another part of a period.
func (p *pair) stepWithinPeriods() error {
	step := time.Duration(p.Int64N(3e6) - 1e6)
	if p.slow {
		step *= 1000
	}
	p.ref.ChangeClock(step, p.clock.drift, p.clock.rate, p.clock.synchronised)
	return p.chip.StepClock(step)
}

// noteMarking counts the events of alternate marking.
func (p *pair) noteMarking(m reference.Marking) {
	say := func(format string, args ...any) { p.saw["marking: "+fmt.Sprintf(format, args...)]++ }
	method := m.Method.String()
	if m.Method == altmark.Muxed && !m.SlotSync {
		method = "muxed without slots"
	}
	say("%s at %s", method, m.Role)
	say("mark %s", m.Mark)
	if m.Mark2 != altmark.NoMark {
		say("mark2 %s", m.Mark2)
	}
	say("time bits %s, %s", m.TimeBits, m.Role)
	if m.Captured {
		say("captured, %s at %s", method, m.Role)
		say("captured of colour %s", m.Colour)
	}
	if m.OutOfWindow {
		say("out of window, %s", method)
	}
	if m.SummedUp {
		say("summed up, %s at %s", method, m.Role)
		if m.Late {
			say("summed up late")
		}
	}
	if m.Gap {
		say("gap")
	}
	if m.Late {
		say("late, %s", method)
	}
	if m.Step {
		say("step without slots")
	}
	if m.Written != "" {
		say("written %s, %s at %s", m.Written, method, m.Role)
	}
}

// markings returns the events that noteMarking must have counted in the whole test.
func markings() (all []string) {
	say := func(format string, args ...any) { all = append(all, "marking: "+fmt.Sprintf(format, args...)) }
	for _, role := range altmark.RoleWords() {
		for _, method := range append(altmark.MethodWords(), "muxed without slots") {
			say("%s at %s", method, role)
			if method != "step" {
				say("captured, %s at %s", method, role)
			}
			if method != "pulse" {
				say("summed up, %s at %s", method, role)
			}
			switch {
			case role == "transit":
			case method == "double":
				say("written 00, double at %s", role)
			default:
				say("written 0, %s at %s", method, role)
			}
			if role == "initiator" && method != "double" {
				say("written 1, %s at initiator", method)
			}
		}
		for bits := range 8 {
			say("time bits %03b, %s", bits, role)
		}
	}
	for _, bits := range []string{"01", "10", "11"} {
		say("written %s, double at initiator", bits)
	}
	for _, mark := range altmark.MarkWords() {
		say("mark %s", mark)
		say("mark2 %s", mark)
	}
	for _, what := range []string{"captured of colour 0", "captured of colour 1", "out of window, step",
		"out of window, double",
		"out of window, muxed", "out of window, muxed without slots", "late, step", "late, double", "late, muxed",
		"late, muxed without slots", "summed up late", "gap", "step without slots", "flow anew"} {
		say("%s", what)
	}
	return all
}

// markingDiffers returns an error if register reads differ. No packet is in transit.
func (p *pair) markingDiffers() error {
	if !p.marking {
		return nil
	}
	p.saw["marking: windows compared"]++
	indexes := p.flowIndexes()
	var counters, late, outer, arrivals []uint64
	for _, i := range indexes {
		words, periods := p.ref.FlowWindow(i), p.ref.LateWindow(i)
		counters, late = append(counters, words[:]...), append(late, periods[:]...)
		outer = append(outer, p.ref.OuterWindow(i)...)
		sums := p.ref.ArrivalsWindow(i)
		arrivals = append(arrivals, sums[:]...)
	}
	if slices.Max(late) == 0 {
		late = nil
	}
	p.noteOuters(outer)
	if slices.Max(outer) == 0 {
		outer = nil
	}
	if slices.Max(arrivals) == 0 {
		arrivals = nil
	}
	clock := p.ref.ClockWindow()
	text, err := json.Marshal(map[string]any{"attributes": []any{
		map[string]any{"flows": map[string]any{"value": indexes}}}})
	if err != nil {
		return err
	}
	ctx := context.Background()
	window, err := p.chip.Create(ctx, sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
		sai.Bytes(altmark.ObjectFlows), sai.GenericProgrammableAttrEntry, sai.Bytes(text)))
	if err != nil {
		return err
	}
	key := sai.Obj(sai.ObjectTypeGenericProgrammable, window)
	got, err := p.chip.Get(ctx, key, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 1<<13)})
	if err != nil {
		return err
	}
	var entry struct {
		Attributes []map[string]struct {
			Value []uint64 `json:"value"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(got[0].Value.(sai.Bytes), &entry); err != nil {
		return err
	}
	read := map[string][]uint64{}
	for _, a := range entry.Attributes {
		for name, v := range a {
			read[name] = v.Value
		}
	}
	windows := map[string][]uint64{
		"time": clock[:], "counters": counters, "late": late, "outer": outer, "arrivals": arrivals,
	}
	for name, r := range windows {
		if f := read[name]; !slices.Equal(f, r) {
			return fmt.Errorf("window of flows %v, %s:\n     fast %v\nreference %v", indexes, name, f, r)
		}
	}
	for i, g := range read["generations"] { // each engine has its own numbers, but they change together
		was, known := p.generations[indexes[i]]
		is := [2]uint64{g, p.ref.FlowGeneration(indexes[i])}
		if known && (was[0] != is[0]) != (was[1] != is[1]) {
			return fmt.Errorf("generations of flow %d: fast from %d to %d, reference from %d to %d", indexes[i], was[0], is[0],
				was[1], is[1])
		}
		if known && was != is {
			p.saw["marking: flow anew"]++
		}
		p.generations[indexes[i]] = is
	}
	return p.chip.Remove(ctx, key)
}
