package saisim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// An impossible profile is refused with all of its errors.
func TestProfileRefusals(t *testing.T) {
	good := `{"lane":1,"role":"terminator","method":"muxed","interval":0,"mark":"dscp0","mark2":"","clear":true,` +
		`"slot-sync":true,"guard-ns":12500000,"early-ns":1000000}`
	with := func(old, now string) string { return string(settingsJSON(strings.Replace(good, old, now, 1))) }
	slow := profile.Small()
	slow.ClockHz = 60_000 // a quarter of 2^-10 s has 14.6 cycles
	for _, tt := range []struct {
		name  string
		chip  profile.Profile
		entry string
		want  string // part of the reason; empty if valid
	}{
		{"the contract's", profile.Small(), string(settingsJSON(good)), ""},
		{"no JSON", profile.Small(), `profile`, "entry: invalid character 'p'"},
		{"nothing", profile.Small(), ``, "entry: "},
		{"no settings", profile.Small(), `{"attributes":[]}`, "profile is missing"},
		{"no value", profile.Small(), `{"attributes":[{"profile":{}}]}`, `role ""`},
		{"two", profile.Small(), `{"attributes":[{"profile":{"value":` + good + `}},{"profile":{"value":` + good + `}}]}`,
			"profile is given twice, want it once"},
		{"a field that there is not", profile.Small(), with(`"lane":1`, `"lanes":1`), `unknown field "lanes"`},
		{"a lane in words", profile.Small(), with(`"lane":1`, `"lane":"one"`), "profile: lane is a string, want int"},
		{"no lane", profile.Small(), with(`"lane":1,`, ``), "lane is missing, want 0 to 7"},
		{"a lane beyond", profile.Small(), with(`"lane":1`, `"lane":8`), "lane is 8, want 0 to 7"},
		{"no interval", profile.Small(), with(`"interval":0,`, ``), "interval is missing, want -10 to 8"},
		{"an interval beyond", profile.Small(), with(`"interval":0`, `"interval":256`), "interval is 256, want -10 to 8"},
		{"a role", profile.Small(), with(`terminator`, `end`), `role "end", want initiator, transit, terminator`},
		{"a method", profile.Small(), with(`muxed`, `mux`), `method "mux", want step, pulse, double, muxed`},
		{"a mark", profile.Small(), with(`dscp0`, `ecn`), `mark "ecn", want dscp0`},
		{"a second mark", profile.Small(), with(`"mark2":""`, `"mark2":"dscp0"`), "only double marking has two bits"},
		{"marks of two families", profile.Small(), with(`"muxed","interval":0,"mark":"dscp0","mark2":""`,
			`"double","interval":0,"mark":"dscp0","mark2":"ipv6-altmark-l"`), "no packet has both"},
		{"clearing where it does not end", profile.Small(), with(`terminator`, `transit`),
			"only a terminator clears the mark"},
		{"step without slots", profile.Small(),
			with(`"muxed","interval":0,"mark":"dscp0","mark2":"","clear":true,"slot-sync":true`,
				`"step","interval":0,"mark":"dscp0","mark2":"","clear":true,"slot-sync":false`), "only muxed marking has slots"},
		{"an early guard before now", profile.Small(), with(`1000000}`, `-1}`), "early-ns is -1, want 0 to 256000000000"},
		{"a terminator that drops", profile.Small(), with(`"lane":1`, `"lane":1,"drop-marked":true`),
			"drop-marked is true, but the role is terminator"},
		{"a guard before now", profile.Small(), with(`12500000`, `-1`), "guard-ns is -1, want 0 to 256000000000"},
		{"a clock too slow", slow, with(`"interval":0`, `"interval":-10`),
			"interval is -10, want one with a quarter of at least 16 cycles of 60000 Hz"},
		{"the mean delay", profile.Small(), with(`"lane":1`, `"lane":1,"mean-delay":true`), ""},
		{"the mean delay of pulses", profile.Small(), with(`"lane":1,"role":"terminator","method":"muxed"`,
			`"lane":1,"mean-delay":true,"role":"terminator","method":"pulse"`),
			"mean-delay is true, but pulse marking does not separate the packets of a period"},
		{"two mistakes", profile.Small(), with(`"lane":1,"role":"terminator"`, `"lane":-1,"role":"x"`),
			"lane is -1, want 0 to 7\nrole \"x\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.chip)
			slots := altmark.Session{Role: altmark.Initiator, Method: altmark.Step, Interval: 4, Mark: altmark.DSCP0,
				SlotSync: true}
			r.profile(0, slots, 0)
			oid, err := r.Create(t.Context(), sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
				sai.Bytes(altmark.ObjectProfile), sai.GenericProgrammableAttrEntry, sai.Bytes(tt.entry)))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := r.get(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry).(sai.Bytes); string(
					got) != tt.entry {
					t.Errorf("reads back as %s, want %s", got, tt.entry)
				}
				return
			}
			r.wantStatus(err, sai.StatusInvalidParameter)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			// An existing profile also refuses this ENTRY, and does not change.
			other := r.profile(7, slots, 0)
			r.wantStatus(r.Set(t.Context(), sai.Obj(sai.ObjectTypeGenericProgrammable, other),
				sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(tt.entry)}), sai.StatusInvalidParameter)
			got := r.get(sai.ObjectTypeGenericProgrammable, other, sai.GenericProgrammableAttrEntry).(sai.Bytes)
			if !bytes.Equal(got, profileJSON(7, slots, 0)) {
				t.Errorf("reads back as %s", got)
			}
		})
	}
}

func (r *rig) available(name string) uint64 {
	r.Helper()
	n, err := r.Availability(context.Background(), sai.ObjectTypeGenericProgrammable,
		attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(name)))
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// There can be as many profiles as lanes. A profile that is removed, or set to another lane, frees its lane.
func TestLanes(t *testing.T) {
	r := newRig(t, profile.Small())
	var oids []sai.OID
	for lane := range 8 {
		if n := r.available(altmark.ObjectProfile); n != 8 {
			t.Errorf("%d lanes, want 8, whatever is in use", n)
		}
		oids = append(oids, r.profile(lane, muxedStart, 0))
	}
	r.refused(sai.StatusInsufficientResources, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
		sai.Bytes(altmark.ObjectProfile),
		sai.GenericProgrammableAttrEntry, profileJSON(0, muxedStart, 0))
	if n := r.available(altmark.ObjectFlows); n != 64 {
		t.Errorf("windows read %d flows, want 64", n)
	}
	r.remove(sai.ObjectTypeGenericProgrammable, oids[3])
	r.set(sai.ObjectTypeGenericProgrammable, oids[5], sai.GenericProgrammableAttrEntry, profileJSON(3, muxedStart, 0))
	r.profile(5, muxedStart, 0)
	if n := len(r.Tables().AltMarks); n != 8 {
		t.Errorf("%d profiles, want 8", n)
	}
}

// Two profiles exchange their lanes, one after the other, as syncd does when it changes the chip from one view to
// another.
func TestLanesExchanged(t *testing.T) {
	r := newRig(t, profile.Small())
	step := muxedStart
	step.Method = altmark.Step
	a, b := r.profile(0, muxedStart, 0), r.profile(1, step, 0)
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
		sai.Bytes(altmark.ObjectProfile),
		sai.GenericProgrammableAttrEntry, profileJSON(1, muxedStart, 0)) // a new profile must not take the lane
	r.set(sai.ObjectTypeGenericProgrammable, a, sai.GenericProgrammableAttrEntry, profileJSON(1, muxedStart, 0))
	r.set(sai.ObjectTypeGenericProgrammable, b, sai.GenericProgrammableAttrEntry, profileJSON(0, step, 0))
	got := r.Tables().AltMarks
	if len(got) != 2 || got[0].Session.Method != altmark.Step || got[1].Session.Method != altmark.Muxed {
		t.Errorf("lanes have %+v", got)
	}
	r.remove(sai.ObjectTypeGenericProgrammable, a)
	r.remove(sai.ObjectTypeGenericProgrammable, b)
	if n := len(r.Tables().AltMarks); n != 0 {
		t.Errorf("%d profiles stay", n)
	}
}

// Eight lanes at the same time: each has its own nibble, for its own interval, role and mark.
func TestTimeLookup(t *testing.T) {
	m := newMarker(t)
	sessions := []altmark.Session{
		{Role: altmark.Initiator, Method: altmark.Step, Interval: -10, Mark: altmark.DSCP0, SlotSync: true},
		{Role: altmark.Transit, Method: altmark.Step, Interval: -4, Mark: altmark.DSCP1, SlotSync: true},
		{Role: altmark.Transit, Method: altmark.Pulse, Interval: -1, Mark: altmark.DSCP2, SlotSync: true},
		{Role: altmark.Terminator, Method: altmark.Muxed, Interval: 0, Mark: altmark.DSCP3, SlotSync: true},
		{Role: altmark.Terminator, Method: altmark.Muxed, Interval: 1, Mark: altmark.IPv4Reserved},
		{Role: altmark.Terminator, Method: altmark.Double, Interval: 2, Mark: altmark.DSCP5, Mark2: altmark.DSCP4,
			SlotSync: true},
		{Role: altmark.Initiator, Method: altmark.Muxed, Interval: 4, Mark: altmark.IPv6Loss, SlotSync: true}, // not in IPv4
	}
	for lane, s := range sessions {
		m.profile(lane, s, 0)
	}
	f := markedFrame{data: udpFrame(1, 2, 60), l3: 14}
	f.data[15], f.data[20] = 0b100110<<2, 0x80
	at := m.CycleAt(123_456_789)
	bits := func(lane int) string { return timeBits(sessions[lane].Interval, m.timeAt(at)) }
	colour := []string{bits(0)[:1], "1", bits(2)[:1], "0", "1", "1"}
	if b := bits(3); b[1:] == "01" || b[1:] == "10" {
		colour[3] = b[:1]
	}
	want := ""
	for lane := range 6 {
		want = fmt.Sprintf("1%s%s", bits(lane)[1:], colour[lane]) + want
	}
	want = "00000000" + want // no profile; not eligible
	var value uint32
	for _, b := range want {
		value = value<<1 | uint32(b-'0')
	}
	c := m.entry(m.table, 1, sai.ACLEntryAttrFieldACLUserMeta, sai.Match(sai.Uint(value), sai.Uint(0xffffffff)))
	m.sendAt(0, at, saisim.Frame{Data: f.data})
	if m.packets(c) != 1 {
		t.Errorf("metadata is not %s", want)
	}
}

// Invalid register reads are refused.
func TestWindowRefusals(t *testing.T) {
	r := newRig(t, profile.Small())
	flows := func(v string) sai.Bytes {
		return sai.Bytes(`{"attributes":[{"flows":{"value":` + v + `}}]}`)
	}
	many := "[0" + strings.Repeat(",0", 128) + "]"
	for entry, want := range map[string]string{
		string(flows("[64]")):  "flows: index 64, want 0 to 63",
		string(flows("[-1]")):  "flows: json: cannot unmarshal number -1",
		string(flows(`"all"`)): "flows: json: cannot unmarshal string",
		string(flows(many)):    "flows: 129, want at most 128",
		"{":                    "entry: unexpected end of JSON input",
	} {
		_, err := r.Create(t.Context(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectFlows),
				sai.GenericProgrammableAttrEntry, sai.Bytes(entry)))
		r.wantStatus(err, sai.StatusInvalidParameter)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	oid := r.extension(altmark.ObjectFlows, flows("[0]"))
	r.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, flows("[1,2,63,1]"))
	got := r.get(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry).(sai.Bytes)
	// The value of a get may be set again.
	r.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, got)
	if again := r.get(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry).(sai.Bytes); !bytes.Equal(
		got, again) || !json.Valid(got) {
		t.Errorf("%s\nthen\n%s", got, again)
	}
	if n := len(r.words(1, 2, 63, 1)["counters"]); n != 4*22 {
		t.Errorf("%d words for 4 flows, want 88", n)
	}
}

// A live chip's clock follows the kernel's clock: each register read calls the function for the kernel's current state.
// A simulated clock does not follow a kernel, and its register reads lack the attribute. An attribute of zeroes would
// mean that the kernel's state is unknown and that delays are not reliable.
func TestWindowKernel(t *testing.T) {
	asked := 0
	var says altmark.KernelClock
	ask := func() altmark.KernelClock { asked++; return says }
	live := newRigOf(t, saisim.Config{Profile: profile.Small(), Start: start, Kernel: ask})
	boot := [2]uint64{0x0123456789abcdef, 1<<64 - 1}
	for _, tt := range []struct {
		name string
		says altmark.KernelClock
		want []uint64
	}{
		{"nothing", altmark.KernelClock{}, []uint64{0, 0, 0, 0, 0, 0}},
		{"only which it is", altmark.KernelClock{Boot: boot}, []uint64{boot[0], boot[1], 0, 0, 0, 0}},
		{"not synchronised", altmark.KernelClock{Boot: boot, Known: true, MaxError: 16 * time.Second},
			[]uint64{boot[0], boot[1], 1, 0, 16e9, 0}},
		{"synchronised, and ahead",
			altmark.KernelClock{Boot: boot, Known: true, Synchronised: true, MaxError: 2 * time.Millisecond, Ahead: 3},
			[]uint64{boot[0], boot[1], 1, 1, 2e6, 3}},
		{"behind", altmark.KernelClock{Known: true, Synchronised: true, Ahead: -time.Nanosecond},
			[]uint64{0, 0, 1, 1, 0, 1<<64 - 1}},
	} {
		says = tt.says
		before := asked
		if got := live.words(5)["kernel"]; !slices.Equal(got, tt.want) || asked != before+1 {
			t.Errorf("%s: %d after it was asked %d times, want %d after once", tt.name, got, asked-before, tt.want)
		}
	}
	simulated := newRig(t, profile.Small())
	if w := simulated.words(5); w["kernel"] != nil || len(w["time"]) != 5 || len(w["counters"]) != 22 {
		t.Errorf("a chip that follows no kernel's clock says %v", w)
	}
}

// The value of a get of a live chip may also be set again. It has no influence on later states of the kernel.
func TestWindowKernelGivenBack(t *testing.T) {
	says := altmark.KernelClock{Boot: [2]uint64{1, 2}, Known: true, Synchronised: true, MaxError: 5}
	ask := func() altmark.KernelClock { return says }
	r := newRigOf(t, saisim.Config{Profile: profile.Small(), Start: start, Kernel: ask})
	oid := r.extension(altmark.ObjectFlows, sai.Bytes(`{"attributes":[{"flows":{"value":[3]}}]}`))
	entry := func() []byte {
		return r.get(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry).(sai.Bytes)
	}
	first := entry()
	r.set(sai.ObjectTypeGenericProgrammable, oid, sai.GenericProgrammableAttrEntry, sai.Bytes(first))
	if again := entry(); !bytes.Equal(first, again) || bytes.Count(again, []byte(`"kernel"`)) != 1 {
		t.Errorf("%s\nthen\n%s", first, again)
	}
	says.MaxError = 6
	if now := entry(); !bytes.Contains(now, []byte("[1,2,1,1,6,0]")) {
		t.Errorf("%s, want the kernel's numbers [1,2,1,1,6,0]", now)
	}
}

// Any ENTRY results in a possible profile, or in none.
func FuzzAltmarkProfile(f *testing.F) {
	f.Add([]byte(profileJSON(0, muxedStart, 1)))
	f.Add([]byte(profileJSON(7, altmark.Session{Role: altmark.Terminator, Method: altmark.Double, Interval: 8,
		Mark: altmark.IPv6Loss, Mark2: altmark.IPv6Delay, Clear: true, SlotSync: true}, 99)))
	f.Add([]byte(`{"attributes":[{"profile":{"value":{"lane":-1,"interval":1e3,"guard-ns":-9223372036854775808}}}]}`))
	f.Add([]byte(`{"attributes":[{"profile":{"value":null}}, null]}`))
	f.Add([]byte(`[]`))
	m := newMarker(f)
	m.flow(0, 1)
	frame := withChecksum(udpFrame(1, 2, 60))
	f.Fuzz(func(t *testing.T, entry []byte) {
		m.TB = t
		oid, err := m.Create(t.Context(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(altmark.ObjectProfile),
				sai.GenericProgrammableAttrEntry, sai.Bytes(entry)))
		if err != nil {
			if s, ok := sai.StatusOf(err); !ok || s != sai.StatusInvalidParameter {
				t.Fatalf("%v", err)
			}
			if n := len(m.Tables().AltMarks); n != 0 {
				t.Fatalf("%d profiles after %v", n, err)
			}
			return
		}
		if n := len(m.Tables().AltMarks); n != 1 {
			t.Errorf("%d profiles, want 1", n)
		}
		m.send(0, frame)
		m.remove(sai.ObjectTypeGenericProgrammable, oid)
	})
}

// Marks in options are read and written wherever the parser reaches the first AltMark option. Elsewhere there is no
// mark, and the packet leaves as received.
func TestAltMarkOption(t *testing.T) {
	option := []byte{0x12, 4, 0xff, 0xff, 0xff, 0xff}
	header := func(next byte, options ...[]byte) []byte {
		b := append([]byte{next, 0}, bytes.Join(options, nil)...)
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		b[1] = byte(len(b)/8 - 1)
		return b
	}
	ipv6 := func(next byte, headers ...[]byte) []byte {
		return eth(host(2), host(1), ip6(1, 2, next, append(bytes.Join(headers, nil), udp(1, 2, 8)...)))
	}
	const ip = 14 + 40
	for _, tt := range []struct {
		name  string
		frame []byte
		cut   int // bytes left by a capture; zero means all
		at    int // offset of L and D; zero if there is no option
	}{
		{"hop-by-hop", ipv6(0, header(17, option)), 0, ip + 6},
		{"destination", ipv6(60, header(17, option)), 0, ip + 6},
		{"behind Pad1", ipv6(0, header(17, []byte{0}, option)), 0, ip + 7},
		{"behind PadN", ipv6(0, header(17, []byte{1, 2, 0, 0}, option)), 0, ip + 10},
		{"behind one that is unknown", ipv6(0, header(17, []byte{0x3e, 0}, option)), 0, ip + 8},
		{"the first of two", ipv6(0, header(17, option, option)), 0, ip + 6},
		{"behind hop-by-hop without it", ipv6(0, header(60, []byte{1, 4, 0, 0, 0, 0}), header(17, option)), 0, ip + 14},
		{"behind a routing header", ipv6(43, header(60, []byte{0, 0, 0, 0, 0, 0}), header(17, option)), 0, ip + 14},
		{"in the first fragment", ipv6(44, []byte{60, 0, 0, 1, 0, 0, 0, 1}, header(17, option)), 0, ip + 14},
		{"in a later fragment, where it is payload", ipv6(44, []byte{60, 0, 0, 8, 0, 0, 0, 1}, header(17, option)), 0, 0},
		{"in a routing header", ipv6(43, header(17, option)), 0, 0},
		{"3 bytes long", ipv6(0, header(17, []byte{0x12, 3, 0xff, 0xff, 0xff})), 0, 0},
		{"6 bytes long", ipv6(0, header(17, []byte{0x12, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})), 0, 0},
		{"beyond the header", ipv6(0, header(17, []byte{1, 0}, option[:4])), 0, 0},
		{"behind one that is longer than the header", ipv6(0, header(17, []byte{0x3e, 200}, option)), 0, 0},
		{"a whole header, then the capture ends", pad(ipv6(0, header(17, option)), 80), ip + 8, ip + 6},
		{"the capture ends in the header", pad(ipv6(0, header(17, option)), 80), ip + 7, 0},
		{"no headers", ipv6(17), 0, 0},
		{"IPv4", udpFrame(1, 2, 60), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMarker(t)
			s := altmark.Session{Role: altmark.Terminator, Method: altmark.Double, Interval: 0, Mark: altmark.IPv6Loss,
				Mark2: altmark.IPv6Delay, SlotSync: true, Clear: true}
			m.profile(4, s, 0)
			m.flow(4, 3)
			f := saisim.Frame{Data: tt.frame}
			if tt.cut > 0 {
				f = saisim.Frame{Data: tt.frame[:tt.cut], Len: len(tt.frame)}
			}
			want := bytes.Clone(f.Data)
			packets := uint64(0)
			if tt.at > 0 {
				want[tt.at], packets = want[tt.at]&^0x0c, 1
			}
			if got := m.sendAt(0, m.Now(), f)[0].data; !bytes.Equal(got, want) {
				t.Errorf("left as\n%x, want\n%x", got, want)
			}
			if c := m.colours(3)[1]; c.packets != packets || c.captures != packets {
				t.Errorf("%v, want %d packets and captures", c, packets)
			}
		})
	}
}

// Marks are written at the correct offset when a tag is pushed or stripped.
func TestMarksBehindTags(t *testing.T) {
	m := newMarker(t)
	m.profile(0, altmark.Session{Role: altmark.Terminator, Method: altmark.Step, Interval: 0, Mark: altmark.IPv6Delay,
		SlotSync: true, Clear: true}, 0)
	m.flow(0, 1)
	vlan := m.vlan(7)
	m.member(vlan, m.bp(0), sai.VLANTaggingModeTagged)
	m.member(vlan, m.bp(1), sai.VLANTaggingModeUntagged)
	m.member(vlan, m.bp(3), sai.VLANTaggingModeTagged)
	packet := ip6(1, 9, 0, append([]byte{17, 0, 0x12, 4, 1, 2, 0xff, 4}, udp(1, 2, 8)...))
	cleared := bytes.Clone(packet)
	cleared[2+40+6] &^= 4
	for _, o := range m.send(0, eth(host(9), host(1), tag(0x8100, 7), packet)) {
		want := eth(host(9), host(1), cleared)
		if o.port == 3 {
			want = eth(host(9), host(1), tag(0x8100, 7), cleared)
		}
		if !bytes.Equal(o.data, want) {
			t.Errorf("%v\nwant %x", o, want)
		}
	}
}
