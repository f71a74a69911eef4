package saisim_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/tam/dropreport"
	"tamtam/tam/ipfix"
)

// A reader is a collector: it reads the messages among frames that left.
type reader struct {
	testing.TB
	*ipfix.Decoder
	records []map[string]any
	lengths []int // lengths of the packets
}

func newReader(t testing.TB) *reader { return &reader{TB: t, Decoder: ipfix.NewDecoder(0)} }

// read reads the reports that left by a port, and checks the headers in front of each.
func (x *reader) read(outs []sent, port saisim.PortID) []map[string]any {
	x.Helper()
	x.records = nil
	for _, f := range on(outs, port) {
		l3 := f[14:]
		size := map[byte]int{4: 20, 6: 40}[l3[0]>>4]
		if size == 0 || len(l3) < size+8 {
			x.Fatalf("no report: %x", f)
		}
		ends, next := l3[size-8:size], l3[9]
		if size == 40 {
			ends, next = l3[8:40], l3[6]
		} else if wordSum(l3[:20]) != 0 {
			x.Errorf("IPv4 header %x: wrong checksum", l3[:20])
		}
		u := l3[size:]
		pseudo := slices.Concat(ends, []byte{0, next}, u[4:6], u)
		if next != 17 || int(binary.BigEndian.Uint16(u[4:])) != len(u) || wordSum(pseudo) != 0 {
			x.Errorf("datagram %x: wrong length or checksum", u[:8])
		}
		x.lengths = append(x.lengths, len(l3))
		err := x.Message(u[8:], func(r *ipfix.DataRecord) {
			m := map[string]any{"domain": r.Domain, "exported": r.Exported}
			for i := range r.Fields {
				m[r.Fields[i].Name()] = r.Fields[i].Value(r.Values[i])
			}
			x.records = append(x.records, m)
		})
		if err != nil {
			x.Error(err)
		}
	}
	return x.drops()
}

// drops returns the records of drops among those read.
func (x *reader) drops() (all []map[string]any) {
	for _, m := range x.records {
		if m["tamtamDropReason"] != nil {
			all = append(all, m)
		}
	}
	return all
}

// wordSum returns 0 if the checksum is correct.
func wordSum(b []byte) uint16 {
	n := uint32(0)
	for i, x := range b {
		n += uint32(x) << (8 * (1 - i%2))
	}
	for n > 0xffff {
		n = n&0xffff + n>>16
	}
	return ^uint16(n)
}

// said returns a record's values of some elements.
func said(m map[string]any, names ...string) string {
	var s []string
	for _, n := range names {
		s = append(s, fmt.Sprint(m[n]))
	}
	return strings.Join(s, " ")
}

// Each drop is reported with everything that is known about it. A packet that only the CPU receives is reported
// separately, with the reason.
func TestDropReports(t *testing.T) {
	r := newRouter(t)
	m := r.monitored(r.oid(7))
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	c := newReader(t)
	plain := udpFrame(1, 2, 60)
	tagged := slices.Concat(plain[:12], []byte{0x81, 0, 0, 9}, plain[12:])
	names := []string{"tamtamDropReason", "tamtamDropStage", "tamtamDropFlags", "tamtamDropEvent", "forwardingStatus",
		"ingressInterface", "droppedPacketDeltaCount", "dataLinkFrameSize", "domain"}
	for _, tt := range []struct {
		name  string
		port  saisim.PortID
		frame []byte
		want  string
	}{
		{"no VLAN", 6, tagged, fmt.Sprint(drop.NoVLAN, 1, 0, 1, 128, 7, 1, len(tagged), 12345)},
		{"TTL", 0, packet(0, at4(0, 2), at4(1, 2), 1, 64), fmt.Sprint(drop.TTL, 1, dropreport.FlagPunted, 1, 193, 1, 1, 64,
			12345)},
		{"no route", 0, packet(0, at4(0, 2), at4(9, 2), 9, 64), fmt.Sprint(drop.NoRoute, 1, 0, 1, 131, 1, 1, 64, 12345)},
		{"source address", 6, slices.Concat(plain[:6], []byte{1}, plain[7:]),
			fmt.Sprint(drop.SourceAddress, 1, 0, 1, 128, 7, 1, len(plain), 12345)},
	} {
		was := len(c.lengths)
		got := c.read(r.send(tt.port, tt.frame), 7)
		want := tt.want
		for _, x := range []drop.Reason{drop.NoVLAN, drop.TTL, drop.NoRoute, drop.SourceAddress} {
			want = strings.Replace(want, x.String()+" ", fmt.Sprintf("%d ", x), 1)
		}
		if len(got) != 1 || said(got[0], names...) != want {
			t.Errorf("%s: %v\nwant %s: %s", tt.name, got, names, want)
			continue
		}
		if got[0]["dataLinkFrameSection"] != fmt.Sprintf("%x", tt.frame) {
			t.Errorf("%s: frame %v, want %x", tt.name, got[0]["dataLinkFrameSection"], tt.frame)
		}
		t.Log(tt.name, len(c.lengths)-was, "messages", got[0])
	}
	if x := c.Counts(); x.Lost != 0 || x.Bad != 0 || x.WithoutTemplate != 0 {
		t.Errorf("%+v", x)
	}
	r.balanced()
}

// reported returns the counters of the stream of reports to a monitor's collector, by their words.
func (r *rig) reported() (n [dropreport.NumWords]uint64) {
	r.Helper()
	w := r.extension(dropreport.ObjectReports, entryOf(r, dropreport.AttrStreams,
		[]string{"192.0.2.1:50000>192.0.2.9:4739"}))
	defer r.remove(sai.ObjectTypeGenericProgrammable, w)
	var numbers []uint64
	s := sketcher{r}
	s.answer(w, dropreport.AttrCounters, &numbers)
	copy(n[:], numbers)
	return n
}

// The report of a full queue contains its fill and the interfaces that filled it. A switch's reports are subject to the
// same rules as other packets, and a dropped one is counted, not reported.
func TestDropReportsOfQueues(t *testing.T) {
	r := newRig(t, profile.Small())
	m := r.monitored(r.oid(7))
	r.set(sai.ObjectTypePort, r.oid(1), sai.PortAttrTAMObject, sai.OIDs{m.tam})
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrTAMObject, sai.OIDs{m.tam})
	for _, id := range []byte{0, 1, 2} {
		r.send(saisim.PortID(id), eth(host(99), host(id), u16(0x88b5), make([]byte, 50)))
	}
	r.outs = nil
	c := newReader(t)
	to0 := eth(host(0), host(1), u16(0x88b5), make([]byte, 1400))
	other := eth(host(0), host(2), u16(0x88b5), make([]byte, 700))
	at := r.Now() + 1
	for range 2000 {
		for id, f := range map[saisim.PortID][]byte{1: to0, 2: other} {
			noError(t, r.Receive(id, at, saisim.Frame{Data: f}))
		}
	}
	got := c.read(r.drain(), 7)
	drops := uint64(0)
	for _, why := range []drop.Reason{drop.Buffer, drop.QueueLimit} {
		n, _ := r.PortCounters(0)
		drops += n.Dropped[why]
	}
	n := r.reported()
	if drops == 0 || n[dropreport.WordDrops] != drops || n[dropreport.WordReports] != drops ||
		uint64(len(got))+n[dropreport.WordLost] < drops {
		t.Fatalf("%d drops, %d records, counters %v", drops, len(got), n)
	}
	both := 0
	for _, m := range got {
		filled := m["tamtamQueueFilled1"].(uint64) + m["tamtamQueueFilled2"].(uint64) + m["tamtamQueueFilled3"].(uint64)
		if filled != m["tamtamQueueDepth"] || filled == 0 || said(m, "egressInterface", "tamtamDropStage",
			"tamtamQueue") != "1 2 0" {
			t.Fatalf("record %v", m)
		}
		if m["tamtamQueueFilled2"] != uint64(0) {
			both++
		}
	}
	if both == 0 {
		t.Error("nobody else has filled a queue, and two ports sent")
	}
	r.balanced()
}

// A flow is reported when it begins, at the end of each interval with drops, and when it ends.
func TestDropReportsOfFlows(t *testing.T) {
	r := newRig(t, profile.Small())
	m := r.monitored(r.oid(7))
	aging := r.create(sai.ObjectTypeTAMEventThreshold, sai.TAMEventThresholdAttrUnit, sai.TAMEventThresholdUnitUsec,
		sai.TAMEventThresholdAttrAbsValue, sai.Uint(100))
	r.set(sai.ObjectTypeTAMEvent, m.event, sai.TAMEventAttrThreshold, aging)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	c := newReader(t)
	f := slices.Concat(udpFrame(1, 2, 60)[:12], []byte{0x81, 0, 0, 9}, udpFrame(1, 2, 60)[12:])
	at := r.Now() + 1
	for range 5 {
		at += 20_000
		noError(t, r.Receive(3, at, saisim.Frame{Data: f}))
	}
	r.Advance(at + 1_000_000)
	var events []string
	for _, m := range c.read(r.drain(), 7) {
		events = append(events, said(m, "tamtamDropEvent", "droppedPacketDeltaCount", "droppedPacketTotalCount"))
	}
	if want := []string{"2 1 1", "3 4 5", "4 0 5"}; !slices.Equal(events, want) {
		t.Errorf("%q, want %q", events, want)
	}
	if n := r.reported(); n[dropreport.WordFlowsBegun] != 1 || n[dropreport.WordFlowsEnded] != 1 ||
		n[dropreport.WordDrops] != 5 {
		t.Errorf("counters %v", n)
	}
}

// The layout of sonic-mgmt's tests has its fields where these tests read them. A message has one record, and the set
// with the data is first.
func TestDropReportsInFixedLayout(t *testing.T) {
	r := newRig(t, profile.Small())
	m := r.monitored(r.oid(7), sai.TAMReportAttrEnterpriseNumber, sai.Uint(0))
	r.set(sai.ObjectTypeTAMReport, m.report, sai.TAMReportAttrType, sai.TAMReportTypeVendorExtn)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
	f := slices.Concat(udpFrame(1, 2, 60)[:12], []byte{0x81, 0, 0, 9}, udpFrame(1, 2, 60)[12:])
	out := on(r.send(3, f), 7)
	last := out[len(out)-1]
	b := last[14+20+8:]
	u16at := func(i int) uint16 { return binary.BigEndian.Uint16(b[i:]) }
	if dscp := last[15] >> 2; dscp != 32 {
		t.Errorf("DSCP %d, want 32", dscp)
	}
	if u16at(0) != 10 || int(u16at(2)) != len(b) || binary.BigEndian.Uint32(b[12:]) != 12345 ||
		int(u16at(18)) != len(b)-16 ||
		binary.BigEndian.Uint32(b[28:]) != 12345 || u16at(32) != 0 || u16at(34) != 4 || b[36] != byte(drop.NoVLAN)+1 ||
		b[37] != 0 ||
		b[41] != 0xff || int(u16at(42)) != len(f) || string(b[44:]) != string(f) {
		t.Errorf("%x", b)
	}
	if got := newReader(t).read(r.outs, 7); len(got) != 0 {
		t.Error("records without their template", got)
	}
}

// Reports are sampled or limited in number, and suppressed reports are counted. Reports for a collector reached through
// the CPU go to the CPU.
func TestDropReportsBounded(t *testing.T) {
	f := slices.Concat(udpFrame(1, 2, 60)[:12], []byte{0x81, 0, 0, 9}, udpFrame(1, 2, 60)[12:])
	for name, tt := range map[string]struct {
		pairs []any
		want  string
	}{
		"sampled": {[]any{sai.TAMReportAttrReportMode, sai.TAMReportModeSampling, sai.TAMReportAttrSampleRate, sai.Uint(4)},
			"10 0 7 0 3"},
		"bounded": {[]any{sai.TAMReportAttrMaxReportRate, sai.Uint(1), sai.TAMReportAttrMaxReportBurst, sai.Uint(2)},
			"10 0 0 8 2"},
	} {
		r := newRig(t, profile.Small())
		m := r.monitored(r.oid(7), tt.pairs...)
		r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{m.tam})
		r.set(sai.ObjectTypeTAMCollector, m.collector, sai.TAMCollectorAttrDestination, sai.NullOID)
		r.set(sai.ObjectTypeTAMCollector, m.collector, sai.TAMCollectorAttrLocalhost, sai.Bool(true))
		sent := 0
		for range 10 {
			sent += len(on(r.send(3, f), saisim.CPUPort))
		}
		n := r.reported()
		if got := strings.Trim(fmt.Sprint(n[:5]), "[]"); got != tt.want {
			t.Errorf("%s: counters %s, want %s", name, got, tt.want)
		}
		if uint64(sent) != n[dropreport.WordSent]+n[dropreport.WordTemplates] {
			t.Errorf("%s: %d frames for the CPU, counters %v", name, sent, n)
		}
		r.balanced()
	}
}
