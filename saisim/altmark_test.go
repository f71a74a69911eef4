package saisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// papersTables holds the tables of "AM-PM: Efficient Network Telemetry using Alternate Marking", section 3, row by row
// as printed. The first matching row counts.
var papersTables = map[int][][2]string{
	1: { // step, initiating MP
		{"TimeBit = 0", "MarkBit = 0, counter0"},
		{"TimeBit = 1", "MarkBit = 1, counter1"},
	},
	2: { // step, terminating MP
		{"MarkBit = 0", "counter0"},
		{"MarkBit = 1", "counter1"},
	},
	3: { // pulse, initiating MP
		{"TimeBit = 1, Reg = 0", "MarkBit = 1, Reg = 1, timestamp"},
		{"TimeBit = 1, Reg = 1", "MarkBit = 0, Reg = 1"},
		{"TimeBit = 0, Reg = 1", "MarkBit = 1, Reg = 0, timestamp"},
		{"TimeBit = 0, Reg = 0", "MarkBit = 0, Reg = 0"},
	},
	4: { // pulse, terminating MP
		{"MarkBit = 1", "timestamp"},
	},
	5: { // muxed, initiating MP
		{"TimeBits = 010, Reg = 0", "MarkBit = 1, Reg = 1, counter0, timestamp"},
		{"TimeBits = 010, Reg = 1", "MarkBit = 0, Reg = 1, counter0"},
		{"TimeBits = 0**, Reg = *", "MarkBit = 0, Reg = 0, counter0"},
		{"TimeBits = 110, Reg = 1", "MarkBit = 0, Reg = 0, counter1, timestamp"},
		{"TimeBits = 110, Reg = 0", "MarkBit = 1, Reg = 0, counter1"},
		{"TimeBits = 1**, Reg = *", "MarkBit = 1, Reg = 1, counter1"},
	},
	6: { // muxed, terminating MP
		{"TimeBits = 001, MarkBit = 1", "counter0, timestamp"},
		{"TimeBits = 010, MarkBit = 1", "counter0, timestamp"},
		{"TimeBits = 101, MarkBit = 0", "counter1, timestamp"},
		{"TimeBits = 110, MarkBit = 0", "counter1, timestamp"},
		{"TimeBits = ***, MarkBit = 0", "counter0"},
		{"TimeBits = ***, MarkBit = 1", "counter1"},
	},
}

// tablesOf returns the tables of a measurement point: for the mark and, in double marking, for the second mark.
func tablesOf(s altmark.Session) (tables []int) {
	initiating := map[altmark.Method][]int{altmark.Step: {1}, altmark.Pulse: {3}, altmark.Double: {1, 3},
		altmark.Muxed: {5}}
	tables = initiating[s.Method]
	if s.Role != altmark.Initiator {
		for i, n := range tables {
			tables[i] = n + 1
		}
	}
	return tables
}

// A did is the action of a table's matching row. Parts that the row does not name are "".
type did struct {
	mark, reg, counter string
	timestamp          bool
	row                int // 1 is the first; zero if none matches
}

// byTable looks time bits, register and mark up in a table.
func byTable(table int, timeBits, reg, mark string) (d did) {
	have := map[string]string{"TimeBit": timeBits[:1], "TimeBits": timeBits, "Reg": reg, "MarkBit": mark}
	for i, row := range papersTables[table] {
		hit := true
		for cond := range strings.SplitSeq(row[0], ", ") {
			name, pattern, _ := strings.Cut(cond, " = ")
			for at := range pattern {
				hit = hit && (pattern[at] == '*' || pattern[at] == have[name][at])
			}
		}
		if !hit {
			continue
		}
		d.row = i + 1
		for act := range strings.SplitSeq(row[1], ", ") {
			switch name, value, _ := strings.Cut(act, " = "); name {
			case "MarkBit":
				d.mark = value
			case "Reg":
				d.reg = value
			case "timestamp":
				d.timestamp = true
			default:
				d.counter = strings.TrimPrefix(name, "counter")
			}
		}
		return d
	}
	return d
}

// timeBits returns the time bit and the next two bits. For an interval of 16 s, they are Seconds[4:2] of the paper's
// section 3.4.
func timeBits(n altmark.Interval, t altmark.Time) string {
	x := new(big.Rat).Add(new(big.Rat).SetUint64(t.Seconds), big.NewRat(int64(t.Nanoseconds), 1e9))
	quarter := big.NewRat(1, 4)
	if n >= 0 {
		quarter.Mul(quarter, big.NewRat(1<<n, 1))
	} else {
		quarter.Mul(quarter, big.NewRat(1, 1<<-n))
	}
	x.Quo(x, quarter)
	q := new(big.Int).Quo(x.Num(), x.Denom())
	return fmt.Sprintf("%d%d%d", q.Bit(2), q.Bit(1), q.Bit(0))
}

// A marker is a chip that measures, with an ACL table for flows on port 0. Host 2 is known at port 2.
type marker struct {
	*rig
	table sai.OID
}

func newMarker(t testing.TB) *marker {
	t.Helper()
	return newMarkerOf(t, profile.Small())
}

func newMarkerOf(t testing.TB, p profile.Profile) *marker {
	t.Helper()
	m := &marker{rig: newRig(t, p)}
	m.table = m.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true), sai.ACLTableAttrFieldL4DstPort,
		sai.Bool(true),
		sai.ACLTableAttrFieldSrcMAC, sai.Bool(true))
	m.set(sai.ObjectTypePort, m.oid(0), sai.PortAttrIngressACL, m.table)
	m.send(2, eth(host(1), host(2), make([]byte, 46)))
	return m
}

// profileJSON returns the ENTRY of a profile.
func profileJSON(lane int, s altmark.Session, guard time.Duration) sai.Bytes {
	return guardedJSON(lane, s, guard, guard)
}

func guardedJSON(lane int, s altmark.Session, guard, early time.Duration) sai.Bytes {
	mark2 := ""
	if s.Mark2 != altmark.NoMark {
		mark2 = s.Mark2.String()
	}
	return settingsJSON(
		fmt.Sprintf(
			`{"lane":%d,"role":%q,"method":%q,"interval":%d,"mark":%q,"mark2":%q,"clear":%t,"slot-sync":%t,"guard-ns":%d,`+
				`"early-ns":%d,"drop-marked":%t,"mean-delay":%t}`,
			lane, s.Role, s.Method, s.Interval, s.Mark, mark2, s.Clear, s.SlotSync, guard, early,
			s.Foreign == altmark.DropForeign, s.MeanDelay))
}

func settingsJSON(settings string) sai.Bytes {
	return sai.Bytes(
		`{"attributes":[{"profile":{"sai_metadata":{"sai_attr_value_type":"SAI_ATTR_VALUE_TYPE_JSON",` +
			`"sai_attr_flags":"SAI_ATTR_FLAGS_CREATE_AND_SET"},"value":` +
			settings + `}}]}`)
}

func (r *rig) extension(name string, entry sai.Bytes) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName, sai.Bytes(name),
		sai.GenericProgrammableAttrEntry, entry)
}

func (r *rig) profile(lane int, s altmark.Session, guard time.Duration) sai.OID {
	r.Helper()
	return r.extension(altmark.ObjectProfile, profileJSON(lane, s, guard))
}

// yields returns the action of a flow's entry.
func yields(lane, colour, index int) []any {
	return []any{sai.ACLEntryAttrActionSetACLMetaData, sai.Do(sai.Uint(0xa<<28 | lane<<24 | colour<<23 | index))}
}

// flow makes a flow's two entries, and returns them.
func (m *marker) flow(lane, index int, match ...any) (entries [2]sai.OID) {
	m.Helper()
	for colour := range entries {
		counter := m.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, m.table,
			sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrEnableByteCount, sai.Bool(true))
		pairs := append([]any{sai.ACLEntryAttrTableID, m.table, sai.ACLEntryAttrPriority, sai.Uint(5),
			sai.ACLEntryAttrActionCounter, sai.Do(counter),
			sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint((8|colour)<<(4*lane)), sai.Uint(9<<(4*lane)))},
			yields(lane, colour, index)...)
		entries[colour] = m.create(sai.ObjectTypeACLEntry, append(pairs, match...)...)
	}
	return entries
}

func toPort(n int) []any {
	return []any{sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(n), sai.Uint(0xffff))}
}

// A colourWords holds the values of a flow and colour in a register read.
type colourWords struct {
	packets, bytes, captures, seconds, nanoseconds, unsync, outside, pulseBytes uint64
}

func (w colourWords) String() string {
	return fmt.Sprintf(
		"%d packets, %d bytes, %d captures, the last at %d.%09d (unsynchronised %d), %d out of window, %d bytes of pulses",
		w.packets, w.bytes, w.captures, w.seconds, w.nanoseconds, w.unsync, w.outside, w.pulseBytes)
}

// words returns the attributes of a register read of flows.
func (r *rig) words(indices ...int) map[string][]uint64 {
	r.Helper()
	text, _ := json.Marshal(indices)
	oid := r.extension(altmark.ObjectFlows, sai.Bytes(fmt.Sprintf(`{"attributes":[{"flows":{"value":%s}}]}`, text)))
	defer r.remove(sai.ObjectTypeGenericProgrammable, oid)
	got, err := r.Get(context.Background(), sai.Obj(sai.ObjectTypeGenericProgrammable, oid),
		[]sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, 2000+400*len(indices))})
	if err != nil {
		r.Fatal(err)
	}
	var answer struct {
		Attributes []map[string]struct{ Value []uint64 }
	}
	if err := json.Unmarshal(got[0].Value.(sai.Bytes), &answer); err != nil {
		r.Fatal(err)
	}
	words := map[string][]uint64{}
	for _, a := range answer.Attributes {
		for name, v := range a {
			words[name] = v.Value
		}
	}
	return words
}

// colours returns both colours of a flow.
func (r *rig) colours(index int) [2]colourWords {
	r.Helper()
	w := r.words(index)["counters"]
	if len(w) != 22 {
		r.Fatalf("%d words for a flow, want 22", len(w))
	}
	var c [2]colourWords
	for i := range c {
		v := w[11*i:]
		c[i] = colourWords{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}
	}
	return c
}

// timeAt returns the time of day at a cycle.
func (r *rig) timeAt(at saisim.Cycle) altmark.Time {
	t := r.Timestamp(at)
	return altmark.Time{Seconds: t.Seconds, Nanoseconds: t.Nanoseconds}
}

// within returns a cycle at part/1000 of a period. The period is the kth one with an even number after the chip's
// start.
func (r *rig) within(n altmark.Interval, k, part uint64) saisim.Cycle {
	first := n.Period(altmark.At(start))/2*2 + 2
	begin := n.Start(first + k).Sub(altmark.At(start))
	return r.CycleAt(begin + n.Duration()/1000*time.Duration(part))
}

// A markedFrame is a frame with marks.
type markedFrame struct {
	data []byte
	l3   int
	at   int // offset of L and D; zero if there is no AltMark option
}

func (f markedFrame) v4() bool { return f.data[f.l3]>>4 == 4 }

// bit returns a mark, by RFC 791, RFC 8200 and RFC 9343.
func (f markedFrame) bit(m altmark.Mark) string {
	ip := f.data[f.l3:]
	tos := ip[1]
	if !f.v4() {
		tos = ip[0]<<4 | ip[1]>>4
	}
	set := tos>>2&m.DSCPBit() != 0
	switch m {
	case altmark.IPv4Reserved:
		set = ip[6]&0x80 != 0
	case altmark.IPv6Loss:
		set = f.data[f.at]&8 != 0
	case altmark.IPv6Delay:
		set = f.data[f.at]&4 != 0
	}
	if set {
		return "1"
	}
	return "0"
}

// with returns the frame with another mark and a recomputed checksum.
func (f markedFrame) with(m altmark.Mark, bit string) markedFrame {
	f.data = bytes.Clone(f.data)
	if f.bit(m) != bit {
		switch m {
		case altmark.IPv4Reserved:
			f.data[f.l3+6] ^= 0x80
		case altmark.IPv6Loss:
			f.data[f.at] ^= 8
		case altmark.IPv6Delay:
			f.data[f.at] ^= 4
		default:
			if f.v4() {
				f.data[f.l3+1] ^= m.DSCPBit() << 2
			} else {
				f.data[f.l3] ^= m.DSCPBit() >> 2
				f.data[f.l3+1] ^= m.DSCPBit() << 6
			}
		}
	}
	if f.v4() {
		withChecksum(f.data)
	}
	return f
}

// randomFrame returns a UDP frame to a port, with random values in the bits that may be marks.
func randomFrame(rnd *rand.Rand, m altmark.Mark, port uint16) markedFrame {
	payload := udp(1000, port, 18+rnd.IntN(100))
	six := m == altmark.IPv6Loss || m == altmark.IPv6Delay || m.DSCPBit() != 0 && rnd.IntN(2) == 0
	f := markedFrame{l3: 14}
	if !six {
		f.data = eth(host(2), host(1), ip4(1, 2, 17, uint16(rnd.IntN(2))<<15, payload))
		f.data[15] = byte(rnd.IntN(256))
		withChecksum(f.data)
		return f
	}
	next, ext := byte(17), []byte(nil)
	if rnd.IntN(4) > 0 || m.DSCPBit() == 0 { // add an options header with the AltMark option
		headers := []byte{0, 60}[rnd.IntN(2)]
		ext = append([]byte{next, 0, 0x12, 4}, byte(rnd.IntN(256)), byte(rnd.IntN(256)), byte(rnd.IntN(256)),
			byte(rnd.IntN(256)))
		f.at, next = 14+40+6, headers
		if rnd.IntN(3) == 0 { // put an options header with PadN before it
			ext = append([]byte{headers, 0, 1, 4, 0, 0, 0, 0}, ext...)
			f.at, next = f.at+8, 60
		}
	}
	f.data = eth(host(2), host(1), ip6(1, 2, next, append(ext, payload...)))
	f.data[14], f.data[15] = 0x60|byte(rnd.IntN(16)), byte(rnd.IntN(256))
	return f
}

// second returns a different mark that a packet with m can also carry.
func second(m altmark.Mark) altmark.Mark {
	switch m {
	case altmark.DSCP5:
		return altmark.IPv4Reserved
	case altmark.IPv4Reserved:
		return altmark.DSCP0
	case altmark.IPv6Loss:
		return altmark.IPv6Delay
	case altmark.IPv6Delay:
		return altmark.IPv6Loss
	}
	return m + 1
}

// The chip implements the tables literally, with a small constant number of rules per profile and two rules per flow.
// This holds for the marks in the frames that leave, with nothing else changed, for both counters in packets and bytes,
// and for the timestamps. Every row is needed.
func TestChipIsThePapersTables(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 6}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		used := map[int]map[int]bool{1: {}, 2: {}, 3: {}, 4: {}, 5: {}, 6: {}}
		intervals := []altmark.Interval{-10, -7, -1, 0, 4, 8}
		for method := altmark.Step; method <= altmark.Muxed; method++ {
			for role := altmark.Initiator; role <= altmark.Terminator; role++ {
				for mark := altmark.DSCP0; mark <= altmark.IPv6Delay; mark++ {
					s := altmark.Session{Role: role, Method: method, Interval: intervals[rnd.IntN(len(intervals))], Mark: mark,
						SlotSync: true,
						Clear:    role == altmark.Terminator && rnd.IntN(2) == 0}
					if method == altmark.Double {
						s.Mark2 = second(mark)
					}
					t.Run(fmt.Sprintf("%s/%s/%s", method, role, mark), func(t *testing.T) { compareWithTables(t, rnd, s, used) })
				}
			}
		}
		for n, table := range papersTables {
			if len(used[n]) != len(table) {
				t.Errorf("table %d: only rows %v were used", n, used[n])
			}
		}
	})
}

// A flowByTables holds the state of a flow in the tables' registers and counters.
type flowByTables struct {
	reg string
	of  [2]colourWords
}

func compareWithTables(t *testing.T, rnd *rand.Rand, s altmark.Session, used map[int]map[int]bool) {
	m := newMarker(t)
	lane := rnd.IntN(8)
	m.profile(lane, s, 0)
	flows := map[int]*flowByTables{}
	for _, index := range []int{0, 7, 63} {
		flows[index] = &flowByTables{reg: "0"}
		m.flow(lane, index, toPort(index+1)...)
	}
	if rnd.IntN(3) == 0 { // a program that writes fields, but changes no value
		m.load(&pipe.Program{Name: "same", Ingress: pipe.Pipe{Tables: []pipe.Table{
			does("ttl", 1, op("set", "ip.ttl", constant(64)))}}})
	}
	cycles := m.CycleAt(s.Interval.Duration())
	at := m.Now()
	for range 150 {
		at = max(at, m.Now()) + 1000 + saisim.Cycle(rnd.Uint64N(uint64(cycles)/[]uint64{1, 4, 100}[rnd.IntN(3)]))
		index := []int{0, 7, 63}[rnd.IntN(3)]
		f := randomFrame(rnd, s.Mark, uint16(index+1))
		if !f.v4() && s.Mark2 == altmark.IPv4Reserved {
			continue // IPv6 has no such flag
		}
		outs := m.sendAt(0, at, saisim.Frame{Data: f.data})
		want := flows[index].step(s, m.timeAt(at), f, used)
		if len(outs) != 1 || !bytes.Equal(outs[0].data, want.data) {
			t.Fatalf("%v at %s: left as\n%v\nwant\n%x", s, timeBits(s.Interval, m.timeAt(at)), outs, want.data)
		}
	}
	for index, f := range flows {
		if got := m.colours(index); got != f.of {
			t.Errorf("flow %d:\n%v\nwant\n%v", index, got, f.of)
		}
	}
}

// step applies the tables to a packet of the flow. It returns the packet as it leaves.
func (x *flowByTables) step(s altmark.Session, now altmark.Time, f markedFrame, used map[int]map[int]bool) markedFrame {
	bits, out, colour, stamped, reg := timeBits(s.Interval, now), f, "", false, x.reg
	for i, table := range tablesOf(s) {
		mark := []altmark.Mark{s.Mark, s.Mark2}[i]
		d := byTable(table, bits, x.reg, f.bit(mark))
		if d.row > 0 { // table 4 has no row for unmarked packets
			used[table][d.row] = true
		}
		if d.mark != "" {
			out = out.with(mark, d.mark)
		}
		if d.reg != "" {
			reg = d.reg
		}
		if d.counter != "" {
			colour = d.counter
		}
		stamped = stamped || d.timestamp
		if s.Clear {
			out = out.with(mark, "0")
		}
	}
	x.reg = reg
	if colour == "" { // the paper's pulses have no counters; the chip counts them by time bit
		colour = bits[:1]
	}
	c := &x.of[colour[0]-'0']
	c.packets++
	c.bytes += uint64(len(f.data) + 4)
	if stamped {
		c.captures++
		c.seconds, c.nanoseconds = now.Seconds, uint64(now.Nanoseconds)
	}
	// Without a guard every packet of the other colour is out of window.
	if s.Role != altmark.Initiator && s.Method != altmark.Pulse && colour != bits[:1] && s.Interval.Within(now, 0, 0) {
		c.outside++
	}
	return out
}

// Figure 2 of the paper has five packets in each of four intervals, the third in the middle. Muxed marking is the XOR
// of step and pulse, and its captures are the pulses.
func TestFigure2(t *testing.T) {
	const (
		step  = "00000 11111 00000 11111"
		pulse = "00100 00100 00100 00100"
		muxed = "00100 11011 00100 11011"
		// Figure 2 draws the pulse in the middle. By table 3 the pulse is the first packet of an interval. Reg and the
		// first time bit are 0 at first.
		first = "00000 10000 10000 10000"
	)
	for _, tt := range []struct {
		method                altmark.Method
		mark, mark2, captured string
	}{
		{altmark.Step, step, "", "00000 00000 00000 00000"},
		{altmark.Pulse, first, "", first},
		{altmark.Double, step, first, first},
		{altmark.Muxed, muxed, "", pulse},
	} {
		t.Run(tt.method.String(), func(t *testing.T) {
			const n = altmark.Interval(-4)
			m := newMarker(t)
			s := altmark.Session{Role: altmark.Initiator, Method: tt.method, Interval: n, Mark: altmark.DSCP0, SlotSync: true}
			if tt.mark2 != "" {
				s.Mark2 = altmark.DSCP3
			}
			m.profile(0, s, 0)
			m.flow(0, 1)
			var mark, mark2, captured []string
			for k := range uint64(4) {
				a, b, c := "", "", ""
				for _, part := range []uint64{100, 300, 510, 700, 900} {
					before := m.colours(1)
					f := markedFrame{data: m.sendAt(0, m.within(n, k, part), saisim.Frame{
						Data: withChecksum(udpFrame(1, 2, 60))})[0].data, l3: 14}
					a, b = a+f.bit(altmark.DSCP0), b+f.bit(altmark.DSCP3)
					c += fmt.Sprint(m.colours(1)[k&1].captures - before[k&1].captures)
				}
				mark, mark2, captured = append(mark, a), append(mark2, b), append(captured, c)
			}
			if got := strings.Join(mark, " "); got != tt.mark {
				t.Errorf("marked  %s\nwant    %s", got, tt.mark)
			}
			if got := strings.Join(mark2, " "); tt.mark2 != "" && got != tt.mark2 {
				t.Errorf("second mark %s\nwant        %s", got, tt.mark2)
			}
			if got := strings.Join(captured, " "); got != tt.captured {
				t.Errorf("captured %s\nwant     %s", got, tt.captured)
			}
		})
	}
	for i := range muxed {
		if muxed[i] != ' ' && muxed[i]-'0' != (step[i]-'0')^(pulse[i]-'0') {
			t.Errorf("muxed is not step xor pulse at %d", i)
		}
	}
}
