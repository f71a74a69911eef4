package saisim_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/tam/hft"
)

// A telemetryRig is a chip with the objects for streams as SONiC's orchagent makes them.
type telemetryRig struct {
	*rig
	tam, telemetry, report, telType sai.OID
	templates                       []byte
}

func newTelemetryRig(t testing.TB, interval time.Duration) *telemetryRig {
	return telemetryOn(newRig(t, profile.Default()), interval)
}

func telemetryOn(on *rig, interval time.Duration) *telemetryRig {
	r := &telemetryRig{rig: on}
	group := r.create(sai.ObjectTypeHostif, sai.HostifAttrType, sai.HostifTypeGenetlink,
		sai.HostifAttrOperStatus, sai.Bool(true), sai.HostifAttrName, sai.Text("sonic_stel"),
		sai.HostifAttrGenetlinkMcgrpName, sai.Text("ipfix"))
	trap := r.create(sai.ObjectTypeHostifUserDefinedTrap,
		sai.HostifUserDefinedTrapAttrType, sai.HostifUserDefinedTrapTypeTAM)
	r.create(sai.ObjectTypeHostifTableEntry, sai.HostifTableEntryAttrType, sai.HostifTableEntryTypeTrapID,
		sai.HostifTableEntryAttrTrapID, trap, sai.HostifTableEntryAttrHostIf, group,
		sai.HostifTableEntryAttrChannelType, sai.HostifTableEntryChannelTypeGenetlink)
	transport := r.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeNone)
	none := sai.IP{Addr: netipFrom4([4]byte{})}
	collector := r.create(sai.ObjectTypeTAMCollector, sai.TAMCollectorAttrSrcIP, none, sai.TAMCollectorAttrDstIP, none,
		sai.TAMCollectorAttrLocalhost, sai.Bool(true), sai.TAMCollectorAttrHostifTrap, trap,
		sai.TAMCollectorAttrTransport, transport, sai.TAMCollectorAttrDSCPValue, sai.Uint(0))
	r.tam = r.create(sai.ObjectTypeTAM, sai.TAMAttrTAMBindPointTypeList, sai.Enums{sai.TAMBindPointTypeSwitch})
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMObjectID, sai.OIDs{r.tam})
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrTAMTelTypeConfigChangeNotify, sai.Pointer(1))
	r.telemetry = r.create(sai.ObjectTypeTAMTelemetry, sai.TAMTelemetryAttrCollectorList, sai.OIDs{collector})
	r.set(sai.ObjectTypeTAM, r.tam, sai.TAMAttrTelemetryObjectsList, sai.OIDs{r.telemetry})
	r.report = r.create(sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
		sai.TAMReportAttrReportMode, sai.TAMReportModeBulk, sai.TAMReportAttrTemplateReportInterval, sai.Uint(0),
		sai.TAMReportAttrReportInterval, sai.Uint(interval/time.Microsecond),
		sai.TAMReportAttrReportIntervalUnit, sai.TAMReportIntervalUnitUsec)
	r.telType = r.newType(sai.TAMTelTypeAttrSwitchEnablePortStats, sai.TAMTelTypeAttrSwitchEnableOutputQueueStats)
	r.set(sai.ObjectTypeTAMTelemetry, r.telemetry, sai.TAMTelemetryAttrTAMTypeList, sai.OIDs{r.telType})
	return r
}

// The table of host interfaces has its two entries, and SONiC's orchagent asks for one of sampled packets: the answer
// is that the chip lacks such entries, and not that there is no room for one.
func TestTableEntryForSamples(t *testing.T) {
	r := newTelemetryRig(t, time.Millisecond)
	r.create(sai.ObjectTypeHostifTableEntry, sai.HostifTableEntryAttrType, sai.HostifTableEntryTypeWildcard,
		sai.HostifTableEntryAttrChannelType, sai.HostifTableEntryChannelTypeNetdevPhysicalPort)
	group := r.create(sai.ObjectTypeHostif, sai.HostifAttrType, sai.HostifTypeGenetlink,
		sai.HostifAttrOperStatus, sai.Bool(true), sai.HostifAttrName, sai.Text("psample"),
		sai.HostifAttrGenetlinkMcgrpName, sai.Text("packets"))
	trap := r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeSamplepacket,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap)
	r.refused(sai.StatusNotSupported, sai.ObjectTypeHostifTableEntry,
		sai.HostifTableEntryAttrType, sai.HostifTableEntryTypeTrapID, sai.HostifTableEntryAttrTrapID, trap,
		sai.HostifTableEntryAttrHostIf, group,
		sai.HostifTableEntryAttrChannelType, sai.HostifTableEntryChannelTypeGenetlink)
}

func (r *telemetryRig) newType(enabled ...sai.AttrID) sai.OID {
	pairs := []any{
		sai.TAMTelTypeAttrTAMTelemetryType, sai.TAMTelemetryTypeCounterSubscription,
		sai.TAMTelTypeAttrMode, sai.TAMTelTypeModeMixedType, sai.TAMTelTypeAttrReportID, r.report,
	}
	for _, id := range enabled {
		pairs = append(pairs, id, sai.Bool(true))
	}
	return r.create(sai.ObjectTypeTAMTelType, pairs...)
}

func (r *telemetryRig) state(s sai.Enum) {
	r.set(sai.ObjectTypeTAMTelType, r.telType, sai.TAMTelTypeAttrState, s)
}

func (r *telemetryRig) subscribe(of sai.OID, stat sai.StatID, label int) sai.OID {
	return r.create(sai.ObjectTypeTAMCounterSubscription, sai.TAMCounterSubscriptionAttrTelType, r.telType,
		sai.TAMCounterSubscriptionAttrObjectID, of, sai.TAMCounterSubscriptionAttrStatID, sai.Uint(uint32(stat)),
		sai.TAMCounterSubscriptionAttrLabel, sai.Uint(label))
}

// configure makes a configuration of the present subscriptions. It returns its templates, as SONiC reads them: first
// the length.
func (r *telemetryRig) configure() {
	r.state(sai.TAMTelTypeStateCreateConfig)
	want := sai.Attr{ID: sai.TAMTelTypeAttrIPFIXTemplates, Value: sai.Bytes(nil)}
	key := sai.Obj(sai.ObjectTypeTAMTelType, r.telType)
	got, err := r.Get(context.Background(), key, []sai.Attr{want})
	r.wantStatus(err, sai.StatusBufferOverflow)
	n, _ := sai.ListLen(got[0].Value)
	want.Value = make(sai.Bytes, n)
	r.templates = need(r.Get(context.Background(), key, []sai.Attr{want}))(r.TB)[0].Value.(sai.Bytes)
}

// subscribeAll starts a stream of 30 statistics of each port.
func (r *telemetryRig) subscribeAll() {
	for i, id := range r.Ports() {
		for _, s := range need(r.StreamCapability(context.Background(), sai.ObjectTypePort))(r.TB)[:30] {
			r.subscribe(r.oid(id), s.ID, i+1)
		}
	}
	r.configure()
	r.state(sai.TAMTelTypeStateStartStream)
}

// decode returns the records of messages, each as a line of its time and its values.
func (r *telemetryRig) decode(d *hft.Decoder) (lines []string) {
	for _, m := range r.StreamMessages() {
		if m.Channel.Family != "sonic_stel" || m.Channel.Group != "ipfix" || m.Stream != r.telType {
			r.Fatalf("message of %s to %v", m.Stream, m.Channel)
		}
		noError(r.TB, d.Messages(m.Bytes, func(x *hft.Record) {
			s := fmt.Sprint(x.At - start.UnixNano())
			for i, c := range x.Columns {
				s += fmt.Sprintf(" %d:%d:%d=%d", c.Label, c.Type, c.ID, x.Values[i])
			}
			lines = append(lines, s)
		}))
	}
	return lines
}

// A stream in SONiC's order of calls: the first record is an interval after the start, and the stream ends at once.
func TestStreamsStatistics(t *testing.T) {
	r := newTelemetryRig(t, 10*time.Microsecond)
	r.subscribe(r.oid(5), sai.PortStatIfInUcastPkts, 2)
	r.subscribe(r.oid(1), sai.PortStatIfOutOctets, 1)
	r.configure()
	if len(r.notes) == 0 || r.notes[len(r.notes)-1] != (sai.TelTypeConfigChange{TelType: r.telType}) {
		t.Fatalf("notifications %v, want that the templates are ready", r.notes)
	}
	d := need(hft.NewDecoder(0, 10*time.Microsecond, func(e hft.Event) { t.Error(e.Text()) }))(t)
	noError(t, d.Session(r.templates, map[uint16]string{1: "Ethernet0", 2: "Ethernet4"}))
	r.Advance(5_000)
	r.state(sai.TAMTelTypeStateStartStream)
	r.Advance(15_000)
	r.sendAt(5, 16_000, saisim.Frame{Data: udpFrame(1, 2, 100)})
	r.Advance(35_000)
	r.state(sai.TAMTelTypeStateStopStream)
	r.Advance(80_000)
	of := func(at, octets, packets int) string { // IF_OUT_OCTETS is 9, IF_IN_UCAST_PKTS 1
		return fmt.Sprintf("%d 1:1:9=%d 2:1:1=%d", at, octets, packets)
	}
	got := r.decode(d)
	want := []string{of(15_000, 0, 0), of(25_000, 104, 1), of(35_000, 104, 1)}
	if !slices.Equal(got, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c := r.StreamCounts()[r.telType]; c.Read != 3 || c.Encoded != 3 || c.NoRoom != 0 || c.Dropped != 0 {
		t.Errorf("counts %+v, want 3 records", c)
	}
}

// Reconfiguration loses no record, doubles none, and each value is the one that get_stats of a chip with the same
// frames returns at that cycle.
func TestReconfiguredStreamLosesNothing(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4}, streamsRandomly)
}

func streamsRandomly(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 44))
	r, truth := newTelemetryRig(t, 10*time.Microsecond), newRig(t, profile.Default())
	truth.SetVector(0)
	type column struct {
		of    sai.OID
		stat  sai.StatID
		label int
	}
	var choice []column
	for _, id := range []saisim.PortID{1, 5, 9} {
		for _, stat := range []sai.StatID{sai.PortStatIfInOctets, sai.PortStatIfOutUcastPkts, sai.PortStatInDroppedPkts} {
			choice = append(choice, column{r.oid(id), stat, int(id)})
		}
		q := r.get(sai.ObjectTypePort, r.oid(id), sai.PortAttrQoSQueueList).(sai.OIDs)[0]
		choice = append(choice, column{q, sai.QueueStatWatermarkBytes, int(id) + 1},
			column{q, sai.QueueStatPackets, int(id) + 1})
	}
	d := need(hft.NewDecoder(0, 0, nil))(t)
	have, every := map[int]sai.OID{}, saisim.Cycle(10_000)
	var got, want []string
	active, next, running := []int{}, saisim.Cycle(0), false
	advance := func(to saisim.Cycle) {
		for ; running && next <= to; next += every {
			truth.Advance(next)
			s := fmt.Sprint(uint64(next))
			for _, i := range active {
				c := choice[i]
				k := sai.Obj(sai.ObjectType(c.of>>48), c.of)
				s += fmt.Sprintf(" %d:%d:%d=%d", c.label, uint32(k.Type), uint32(c.stat),
					need(truth.Stats(context.Background(), k, []sai.StatID{c.stat}))(t)[0])
			}
			want = append(want, s)
		}
		truth.Advance(to)
		if r.Advance(to); rnd.IntN(2) == 0 { // else records wait in the chip, perhaps until after a change
			got = append(got, r.decode(d)...)
		}
	}
	now := saisim.Cycle(1000)
	for step := range 200 {
		now += saisim.Cycle(rnd.IntN(30_000))
		for range rnd.IntN(4) {
			in := saisim.PortID(1 + 4*rnd.IntN(3))
			f := saisim.Frame{Data: udpFrame(byte(1+rnd.IntN(3)), byte(1+rnd.IntN(4)), 60+rnd.IntN(900))}
			noError(t, r.Receive(in, now, f))
			noError(t, truth.Receive(in, now, f))
		}
		advance(now + saisim.Cycle(rnd.IntN(10_000)))
		now = r.Now()
		switch rnd.IntN(6) {
		case 0: // other columns while the stream runs
			for range 1 + rnd.IntN(4) {
				i := rnd.IntN(len(choice))
				if oid, there := have[i]; there && len(have) > 1 {
					r.remove(sai.ObjectTypeTAMCounterSubscription, oid)
					delete(have, i)
				} else if !there {
					have[i] = r.subscribe(choice[i].of, choice[i].stat, choice[i].label)
				}
			}
			r.configure()
			noError(t, d.Session(r.templates, nil))
			advance(now + saisim.Cycle(rnd.IntN(40_000)))
			r.state(sai.TAMTelTypeStateStartStream)
			if active = active[:0]; !running {
				running, next = true, r.Now()+every
			}
			for i := range choice {
				if _, there := have[i]; there {
					active = append(active, i)
				}
			}
			slices.SortFunc(active, func(a, b int) int { // as templates have them
				ca, cb := choice[a], choice[b]
				return slices.Compare([]uint64{uint64(ca.label), uint64(ca.of), uint64(ca.stat)},
					[]uint64{uint64(cb.label), uint64(cb.of), uint64(cb.stat)})
			})
		case 1:
			if running {
				r.state(sai.TAMTelTypeStateStopStream)
				running = false
			} else if len(active) > 0 {
				r.state(sai.TAMTelTypeStateStartStream)
				running, next = true, r.Now()+every
			}
		case 2:
			if us := 10 + rnd.IntN(30); step%3 == 0 && saisim.Cycle(us)*1000 != every {
				r.set(sai.ObjectTypeTAMReport, r.report, sai.TAMReportAttrReportInterval, sai.Uint(us))
				every = saisim.Cycle(us) * 1000
				next = r.Now() + every
			}
		}
		now = r.Now()
	}
	got = append(got, r.decode(d)...)
	if len(want) == 0 || !slices.Equal(got, want) {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Errorf("seed %d: %d records, want %d; first difference at %d:\n%v\n%v", seed, len(got), len(want), i,
			got[i:min(i+2, len(got))], want[i:min(i+2, len(want))])
	}
	if c := r.StreamCounts()[r.telType]; c.Read != uint64(len(want)) || c.Encoded != c.Read {
		t.Errorf("seed %d: counts %+v, want %d records", seed, c, len(want))
	}
}

// What cannot be streamed is refused, with the object, the attribute and what would be right.
func TestStreamsRefuse(t *testing.T) {
	r := newTelemetryRig(t, 10*time.Microsecond)
	queueOf := func(id saisim.PortID) sai.OID {
		return r.get(sai.ObjectTypePort, r.oid(id), sai.PortAttrQoSQueueList).(sai.OIDs)[0]
	}
	group := r.get(sai.ObjectTypePort, r.oid(1), sai.PortAttrIngressPriorityGroupList).(sai.OIDs)[0]
	subscribe := func(want sai.Status, telType, of sai.OID, stat sai.StatID, more ...any) {
		t.Helper()
		r.refused(want, sai.ObjectTypeTAMCounterSubscription, append([]any{
			sai.TAMCounterSubscriptionAttrTelType, telType, sai.TAMCounterSubscriptionAttrObjectID, of,
			sai.TAMCounterSubscriptionAttrStatID, sai.Uint(uint32(stat)),
		}, more...)...)
	}
	subscribe(sai.StatusInvalidParameter, r.telType, group, sai.IngressPriorityGroupStatPackets) // MMU statistics are off

	subscribe(sai.StatusNotSupported, r.telType, r.oid(1), sai.PortStatGreenWREDDroppedPackets) // not counted
	subscribe(sai.StatusInvalidParameter, r.telType, r.oid(1), sai.PortStatIfInOctets,
		sai.TAMCounterSubscriptionAttrLabel, sai.Uint(hft.MaxLabel+1))

	key := sai.Obj(sai.ObjectTypeTAMTelType, r.telType)
	state := func(s sai.Enum, want sai.Status) {
		t.Helper()
		r.wantStatus(r.Set(context.Background(), key, sai.Attr{ID: sai.TAMTelTypeAttrState, Value: s}), want)
	}
	state(sai.TAMTelTypeStateCreateConfig, sai.StatusInvalidParameter) // no subscription
	state(sai.TAMTelTypeStateStartStream, sai.StatusInvalidParameter)  // no configuration
	r.subscribe(queueOf(1), sai.QueueStatPackets, 1)
	subscribe(sai.StatusItemAlreadyExists, r.telType, queueOf(1), sai.QueueStatPackets)
	port := r.subscribe(r.oid(9), sai.PortStatIfInOctets, 2)
	r.configure()
	r.state(sai.TAMTelTypeStateStartStream)
	r.remove(sai.ObjectTypeTAMCounterSubscription, port)
	r.wantStatus(r.Remove(context.Background(), sai.Obj(sai.ObjectTypePort, r.oid(9))), sai.StatusObjectInUse)

	for _, us := range []int{0, 9} {
		r.refused(sai.StatusInvalidParameter, sai.ObjectTypeTAMReport, sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
			sai.TAMReportAttrReportMode, sai.TAMReportModeBulk, sai.TAMReportAttrReportInterval, sai.Uint(us))
	}
}

// A port goes with its priority groups, although subscriptions that no stream uses name them. Then CREATE_CONFIG is
// refused, and names the subscription and the group. Without the subscription it makes templates again.
func TestStreamOutlivesRemovedPort(t *testing.T) {
	r := newTelemetryRig(t, 10*time.Microsecond)
	r.telType = r.newType(sai.TAMTelTypeAttrSwitchEnableMmuStats)
	r.set(sai.ObjectTypeTAMTelemetry, r.telemetry, sai.TAMTelemetryAttrTAMTypeList, sai.OIDs{r.telType})
	groupOf := func(id saisim.PortID) sai.OID {
		return r.get(sai.ObjectTypePort, r.oid(id), sai.PortAttrIngressPriorityGroupList).(sai.OIDs)[3]
	}
	gone := groupOf(9)
	of := r.subscribe(gone, sai.IngressPriorityGroupStatWatermarkBytes, 1)
	r.subscribe(groupOf(1), sai.IngressPriorityGroupStatWatermarkBytes, 2)
	r.leave(9)
	r.remove(sai.ObjectTypeHostif, r.hostifs[9])
	r.remove(sai.ObjectTypePort, r.oid(9))

	create := sai.Attr{ID: sai.TAMTelTypeAttrState, Value: sai.TAMTelTypeStateCreateConfig}
	err := r.Set(context.Background(), sai.Obj(sai.ObjectTypeTAMTelType, r.telType), create)
	r.wantStatus(err, sai.StatusInvalidParameter)
	for _, name := range []string{of.String(), gone.String(), "remove the subscription"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want that it names %s", err, name)
		}
	}
	r.remove(sai.ObjectTypeTAMCounterSubscription, of)
	r.configure()
	r.state(sai.TAMTelTypeStateStartStream)
	r.Advance(20_000)
	d := need(hft.NewDecoder(0, 0, nil))(t)
	noError(t, d.Session(r.templates, nil))
	if got := r.decode(d); len(got) != 2 {
		t.Errorf("records %v, want two", got)
	}
}

// A collector that is not on the host gets the messages in packets of the chip. They leave by its port or LAG, or by
// their route. What cannot be sent is counted, with the reason.
func TestStreamsToCollectors(t *testing.T) {
	rt := newRouter(t)
	rt.neighbor(1, at4(1, 20), 20)
	rt.neighbor(1, at6(1, 20), 20)
	rt.neighbor(2, at4(2, 30), 30)
	rt.neighbor(3, at4(3, 40), 40)
	r := telemetryOn(rt.rig, 10*time.Microsecond)
	r.subscribeAll() // 240 statistics, which is more than a packet has room for
	r.state(sai.TAMTelTypeStateStopStream)
	transport := r.create(sai.ObjectTypeTAMTransport, sai.TAMTransportAttrTransportType, sai.TAMTransportTypeUDP,
		sai.TAMTransportAttrSrcPort, sai.Uint(50000), sai.TAMTransportAttrDstPort, sai.Uint(4739))
	for _, tt := range []struct {
		name   string
		to     netip.Addr
		by     sai.OID
		ports  []saisim.PortID
		host   byte // the last of the MAC address
		reason string
	}{
		{"by its port", netip.MustParseAddr("192.0.2.9"), r.oid(6), []saisim.PortID{6}, 9, ""},
		{"by its LAG", netip.MustParseAddr("192.0.2.9"), rt.lag, []saisim.PortID{4, 5}, 9, ""},
		{"by a route to a port", at4(1, 20), 0, []saisim.PortID{1}, 20, ""},
		{"by a route of IPv6", at6(1, 20), 0, []saisim.PortID{1}, 20, ""},
		{"by a route to a VLAN", at4(2, 30), 0, []saisim.PortID{2, 3}, 30, ""},
		{"by a route to a LAG", at4(3, 40), 0, []saisim.PortID{4, 5}, 40, ""},
		{"without a route", at4(9, 9), 0, nil, 0, "no route leads to a neighbour"},
		{"without a neighbour", at4(1, 21), 0, nil, 0, "no route leads to a neighbour"},
	} {
		src := netip.MustParseAddr("192.0.2.1")
		if tt.to.Is6() {
			src = at6(0, 1)
		}
		pairs := []any{sai.TAMCollectorAttrTransport, transport, sai.TAMCollectorAttrLocalhost, sai.Bool(false),
			sai.TAMCollectorAttrSrcIP, sai.IP{Addr: src}, sai.TAMCollectorAttrDstIP, sai.IP{Addr: tt.to}}
		if tt.by != 0 {
			pairs = append(pairs, sai.TAMCollectorAttrDestination, tt.by, sai.TAMCollectorAttrDstMAC, sai.MAC{2, 5: 9})
		}
		collector := r.create(sai.ObjectTypeTAMCollector, pairs...)
		r.set(sai.ObjectTypeTAMTelemetry, r.telemetry, sai.TAMTelemetryAttrTAMTypeList, sai.OIDs{})
		r.telemetry = r.create(sai.ObjectTypeTAMTelemetry, sai.TAMTelemetryAttrCollectorList, sai.OIDs{collector},
			sai.TAMTelemetryAttrTAMTypeList, sai.OIDs{r.telType})
		r.set(sai.ObjectTypeTAM, r.tam, sai.TAMAttrTelemetryObjectsList, sai.OIDs{r.telemetry})
		r.configure()
		was := r.StreamCounts()[r.telType]
		r.state(sai.TAMTelTypeStateStartStream)
		r.Advance(r.Now() + r.CycleAt(30*time.Microsecond))
		r.state(sai.TAMTelTypeStateStopStream)
		messages, records := r.StreamMessages(), uint64(0)
		for _, m := range messages {
			records += uint64(m.Records)
		}
		i := 0
		for _, o := range r.drain() {
			headers := 14 + 20 + 8
			if tt.to.Is6() {
				headers += 20
			}
			if o.data[12] == 0x81 { // the flooded copy at a tagged port
				continue
			}
			if i == len(messages) || !slices.Contains(tt.ports, o.port) || o.data[5] != tt.host ||
				!bytes.Equal(o.data[headers-8:headers-4], []byte{50000 >> 8, 50000 & 255, 4739 >> 8, 4739 & 255}) ||
				!bytes.Equal(o.data[headers:], messages[i].Bytes) || o.length > 14+1500 {
				t.Errorf("%s: message %d of %d: %v", tt.name, i, len(messages), o)
			}
			i++
		}
		got := r.StreamCounts()[r.telType]
		sent, unsent := got.Sent-was.Sent, got.Unsent-was.Unsent
		if records != 6 || tt.reason == "" && (i != len(messages) || sent != records || unsent != 0) ||
			tt.reason != "" && (i != 0 || sent != 0 || unsent != records || got.Reason != tt.reason) {
			t.Errorf("%s: %d messages with %d records, %d packets, counts %+v before, %+v then", tt.name, len(messages),
				records, i, was, got)
		}
	}
}

// On a chip whose clock makes no whole number of cycles in the interval, the error names the nearest interval that is.
func TestStreamIntervalIsCycles(t *testing.T) {
	p := profile.Default()
	p.ClockHz = 1_350_000_000 // 27 cycles in 20 ns
	r := newRig(t, p)
	_, err := r.Create(context.Background(), sai.ObjectTypeTAMReport, attrs(sai.TAMReportAttrType, sai.TAMReportTypeIPFIX,
		sai.TAMReportAttrReportMode, sai.TAMReportModeBulk, sai.TAMReportAttrReportInterval, sai.Uint(10_009),
		sai.TAMReportAttrReportIntervalUnit, sai.TAMReportIntervalUnitNanosec))
	r.wantStatus(err, sai.StatusInvalidParameter)
	if !strings.Contains(err.Error(), "want 10µs") {
		t.Errorf("%v, want the nearest interval, 10µs", err)
	}
}

// A full buffer drops whole records, and counts them.
func TestStreamCountsWhatItDrops(t *testing.T) {
	r := newTelemetryRig(t, 10*time.Microsecond)
	r.subscribeAll()
	r.Advance(10_000_000)
	d := need(hft.NewDecoder(0, 0, nil))(t)
	noError(t, d.Session(r.templates, nil))
	got, c := r.decode(d), r.StreamCounts()[r.telType]
	if c.Read != 1000 || c.NoRoom == 0 || c.Read != c.Encoded+c.NoRoom || uint64(len(got)) != c.Encoded {
		t.Errorf("%d records, counts %+v", len(got), c)
	}
	if !strings.HasPrefix(got[0], "10000 ") {
		t.Errorf("the first record is %.20s, want that of 10000 ns", got[0])
	}
}

// A thousand readouts of 30 statistics of all ports allocate nothing.
func TestStreamReadsWithoutAllocating(t *testing.T) {
	r := newTelemetryRig(t, 10*time.Microsecond)
	r.subscribeAll()
	at := r.Now()
	if n := testing.AllocsPerRun(100, func() { at += 10_000; r.Advance(at) }); n != 0 {
		t.Errorf("%v allocations for each readout, want none", n)
	}
}

// BenchmarkStream reads 30 statistics of each of 32 ports, as often as every 10 us.
func BenchmarkStream(b *testing.B) {
	r := newTelemetryRig(b, 10*time.Microsecond)
	r.subscribeAll()
	at := r.Now()
	for i := 0; b.Loop(); i++ {
		if at += 10_000; i%64 == 0 {
			b.StopTimer()
			r.StreamMessages()
			b.StartTimer()
		}
		r.Advance(at)
	}
}
