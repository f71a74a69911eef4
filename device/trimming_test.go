package device_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// trimConfig forwards frames from Ethernet0 to Ethernet2 and Ethernet3, by DSCP: 8 into queue 1, 16 into queue 2. Both
// queues may hold 8192 bytes and trim what they do not admit. A scheduler, as in SONiC's tests, keeps queue 1 from
// sending more than a burst.
const trimConfig = `{
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up", "mtu": "9100"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up", "mtu": "9100"},
		"Ethernet2": {"lanes": "2", "speed": "10000", "admin_status": "up", "mtu": "9100"},
		"Ethernet3": {"lanes": "3", "speed": "10000", "admin_status": "up", "mtu": "9100"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"},
		"Vlan10|Ethernet2": {"tagging_mode": "untagged"}, "Vlan10|Ethernet3": {"tagging_mode": "untagged"}},
	"FDB": {"Vlan10|02:00:00:00:00:33": {"port": "Ethernet3"}, "Vlan10|02:00:00:00:00:22": {"port": "Ethernet2"}},
	"DSCP_TO_TC_MAP": {"AZURE": {"8": "1", "16": "2", "20": "5"}},
	"TC_TO_QUEUE_MAP": {"AZURE": {"0": "0", "1": "1", "2": "2", "5": "5"}},
	"PORT_QOS_MAP": {
		"Ethernet0": {"dscp_to_tc_map": "AZURE"},
		"Ethernet2": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"},
		"Ethernet3": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE"}},
	"SCHEDULER": {"SCHEDULER_BLOCK_DATA_PLANE": {"type": "DWRR", "weight": "15", "pir": "1"}},
	"QUEUE": {
		"Ethernet2|1": {"scheduler": "SCHEDULER_BLOCK_DATA_PLANE"},
		"Ethernet3|1": {"scheduler": "SCHEDULER_BLOCK_DATA_PLANE"}},
	"BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "1000000"}},
	"BUFFER_PROFILE": {"q_lossy_trim_profile": {"pool": "egress_lossy_pool", "size": "0", "static_th": "8192",
		"packet_discard_action": "trim"}},
	"BUFFER_QUEUE": {
		"Ethernet2|1-2": {"profile": "q_lossy_trim_profile"}, "Ethernet3|1-2": {"profile": "q_lossy_trim_profile"}},
	"SWITCH_TRIMMING": {"GLOBAL": {"size": "256", "dscp_value": "48", "queue_index": "6"}}
}`

// A trimSwitch is a switch with trimConfig.
type trimSwitch struct{ *routed }

func newTrim(t *testing.T) trimSwitch {
	c, err := device.ParseConfigDB([]byte(trimConfig))
	if err != nil {
		t.Fatal(err)
	}
	r := &routed{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c, Profile: profile.Default()})}
	devicetest.RunUntilIdle(t, r.Sim)
	r.output()
	s := trimSwitch{r}
	s.status(schema.AppTrimming, schema.TrimmingKey, "active")
	s.status(schema.AppBufferProfile, trimProfile, "active")
	return s
}

const (
	trimProfile = "q_lossy_trim_profile"
	trimKey     = "SWITCH_TRIMMING|GLOBAL"
	profileKey  = "BUFFER_PROFILE|" + trimProfile
)

// status checks the outcome of a row, as "status: reason" from its beginning on.
func (s trimSwitch) status(table, key, want string) {
	s.Helper()
	row := s.state(table, key)
	got := strings.TrimSuffix(row[schema.FieldStatus]+": "+row[schema.FieldReason], ": ")
	if !strings.HasPrefix(got, want) {
		s.Errorf("%s|%s is %q, want %q", table, key, got, want)
	}
}

// update changes fields of a row of CONFIG_DB, and leaves the others.
func (s trimSwitch) update(key string, fields ...string) {
	s.Helper()
	f := swss.FieldValues{}
	for i := 0; i < len(fields); i += 2 {
		f[fields[i]] = fields[i+1]
	}
	devicetest.NoError(s.T, s.Redis.DB(swss.ConfigDB).Client().HSet(s.Context(), key, f).Err())
	devicetest.RunUntilIdle(s.T, s.Sim)
}

// asic returns the row of an object in ASIC_DB.
func (s trimSwitch) asic(typ, oid string) swss.FieldValues {
	s.Helper()
	return devicetest.Row(s.T, s.Redis, swss.ASICDB, "ASIC_STATE", "SAI_OBJECT_TYPE_"+typ+":"+oid)
}

// oid returns an object of a map in COUNTERS_DB.
func (s trimSwitch) oid(names, name string) string {
	s.Helper()
	oid := devicetest.Row(s.T, s.Redis, swss.CountersDB, names, "")[name]
	if oid == "" {
		s.Fatalf("%s has no %s", names, name)
	}
	return oid
}

// counters returns the counters of an object.
func (s trimSwitch) counters(names, name string) func(stat string) int {
	s.Helper()
	devicetest.NoError(s.T, s.Poll(s.Context()))
	row := devicetest.Row(s.T, s.Redis, swss.CountersDB, "COUNTERS", s.oid(names, name))
	return func(stat string) (n int) {
		s.Helper()
		if _, err := fmt.Sscan(row[stat], &n); err != nil {
			s.Errorf("%s of %s is %q", stat, name, row[stat])
		}
		return n
	}
}

// A trimFrame describes a frame to a host at a port.
type trimFrame struct {
	v6, tcp bool
	size    int   // bytes without FCS
	dscp    uint8 // 8 is for queue 1, 16 for queue 2
	to      byte  // the port
	from    byte  // last byte of the source address
}

func (f trimFrame) bytes(t testing.TB) []byte {
	t.Helper()
	var ip gopacket.SerializableLayer
	var l4 interface {
		gopacket.SerializableLayer
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	} = &layers.UDP{SrcPort: 5000, DstPort: 6000}
	protocol, head := layers.IPProtocolUDP, 8
	if f.tcp {
		l4, protocol, head = &layers.TCP{SrcPort: 5000, DstPort: 6000, ACK: true, Window: 9}, layers.IPProtocolTCP, 20
	}
	typ := layers.EthernetTypeIPv4
	if f.v6 {
		src, dst := make([]byte, 16), make([]byte, 16)
		src[0], dst[0], src[15], dst[15] = 0x80, 0x80, f.from, 9
		v6 := &layers.IPv6{Version: 6, TrafficClass: f.dscp << 2, HopLimit: 64, NextHeader: protocol, SrcIP: src, DstIP: dst}
		ip, typ, head = v6, layers.EthernetTypeIPv6, head+40
		devicetest.NoError(t, l4.SetNetworkLayerForChecksum(v6))
	} else {
		v4 := &layers.IPv4{Version: 4, IHL: 5, TOS: f.dscp << 2, TTL: 64, Protocol: protocol,
			SrcIP: []byte{1, 1, 1, f.from}, DstIP: []byte{10, 0, 0, 9}}
		ip, head = v4, head+20
		devicetest.NoError(t, l4.SetNetworkLayerForChecksum(v4))
	}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	devicetest.NoError(t, gopacket.SerializeLayers(buf, opts,
		&layers.Ethernet{SrcMAC: devicetest.HostMAC(1), DstMAC: devicetest.HostMAC(f.to * 0x11), EthernetType: typ},
		ip, l4, devicetest.Payload(f.size-14-head)))
	return buf.Bytes()
}

// send makes n frames arrive at Ethernet0 back to back, and returns what left at the frame's port, by length and DSCP:
// "256/48" has the number of frames of 256 bytes with DSCP 48. All are checked against the frame that arrived.
func (s trimSwitch) send(n int, f trimFrame) (left map[string]int) {
	s.Helper()
	in := f.bytes(s.T)
	s.outs = nil
	for range n {
		devicetest.NoError(s.T, s.Chip.Receive(0, s.Chip.Now(), saisim.Frame{Data: in}))
	}
	devicetest.NoError(s.T, s.Advance(s.Context(), s.Chip.Now()+saisim.Cycle(s.Chip.Profile().ClockHz/1000)))
	devicetest.RunUntilIdle(s.T, s.Sim)
	left = map[string]int{}
	for _, out := range s.outs {
		if byte(out.Port) != f.to {
			s.Errorf("a frame left at port %d", out.Port)
			continue
		}
		left[fmt.Sprintf("%d/%d", len(out.Data), s.check(in, out))]++
	}
	return left
}

// check compares a frame that left with the one that arrived, and returns its DSCP. Of a shorter one only the length in
// the IP header, and the checksum of IPv4, may differ besides the DSCP.
func (s trimSwitch) check(in []byte, out devicetest.SentFrame) (dscp uint8) {
	s.Helper()
	b, n := slices.Clone(out.Data), len(out.Data)
	if b[12] == 0x08 {
		dscp = b[15] >> 2
		if length := int(b[16])<<8 | int(b[17]); length != n-14 {
			s.Errorf("a frame of %d bytes has an IPv4 packet of %d", n, length)
		}
		sum := 0
		for i := 14; i < 34; i += 2 {
			sum += int(b[i])<<8 | int(b[i+1])
		}
		if sum = sum>>16 + sum&0xffff; sum != 0xffff {
			s.Errorf("the IPv4 header of a frame of %d bytes has a wrong checksum", n)
		}
		copy(b[15:18], in[15:18])
		copy(b[24:26], in[24:26])
	} else {
		dscp = b[14]&15<<2 | b[15]>>6
		if length := int(b[18])<<8 | int(b[19]); length != n-54 {
			s.Errorf("a frame of %d bytes has an IPv6 payload of %d", n, length)
		}
		copy(b[14:16], in[14:16])
		copy(b[18:20], in[18:20])
	}
	if !bytes.Equal(b, in[:min(n, len(in))]) {
		s.Errorf("a frame of %d bytes differs from the beginning of the one that arrived", n)
	}
	return dscp
}

// trimmed sends n frames into a queue that is full, and checks that all are trimmed to a size, with a DSCP.
func (s trimSwitch) trimmed(what string, n int, f trimFrame, size int, dscp uint8) {
	s.Helper()
	if left, want := s.send(n, f), map[string]int{fmt.Sprintf("%d/%d", size, dscp): n}; !maps.Equal(left, want) {
		s.Errorf("%s: %v left, want %v", what, left, want)
	}
}

// fill fills queue 1 of a port, which then sends nothing.
func (s trimSwitch) fill(port byte) {
	s.Helper()
	s.send(20, trimFrame{size: 1500, dscp: 8, to: port})
	s.send(50, trimFrame{size: 100, dscp: 8, to: port})
}

// verifySwitch compares attributes of the switch in ASIC_DB, as swss's test does.
func (s trimSwitch) verifySwitch(what string, want ...string) {
	s.Helper()
	keys, err := s.Redis.DB(swss.ASICDB).Client().Keys(s.Context(), "ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:*").Result()
	if err != nil || len(keys) != 1 {
		s.Fatalf("switches %v, %v", keys, err)
	}
	row := s.asic("SWITCH", strings.TrimPrefix(keys[0], "ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:"))
	for i := 0; i < len(want); i += 2 {
		got := row["SAI_SWITCH_ATTR_PACKET_TRIM_"+want[i]]
		if _, mode, isMode := strings.Cut(got, "_MODE_"); isMode {
			got = mode
		}
		if got != want[i+1] {
			s.Errorf("%s: %s is %q in ASIC_DB, want %q", what, want[i], got, want[i+1])
		}
	}
}

// What swss's test_trimming.py checks, with the names of its functions. Rows are updated as there: fields that a test
// does not name stay.

func Test_TrimSwitchGlobalConfiguration(t *testing.T) {
	s := newTrim(t)
	for _, tt := range []struct {
		name       string
		row, attrs []string
	}{
		{"symmetric-dscp-static-queue-index", []string{"size", "100", "dscp_value", "10", "queue_index", "1"}, []string{
			"SIZE", "100", "DSCP_RESOLUTION_MODE", "DSCP_VALUE", "DSCP_VALUE", "10", "QUEUE_RESOLUTION_MODE", "STATIC",
			"QUEUE_INDEX", "1"}},
		{"symmetric-dscp-dynamic-queue-index", []string{"size", "200", "dscp_value", "20", "queue_index", "dynamic"},
			[]string{"SIZE", "200", "DSCP_RESOLUTION_MODE", "DSCP_VALUE", "DSCP_VALUE", "20", "QUEUE_RESOLUTION_MODE",
				"DYNAMIC", "QUEUE_INDEX", "1"}},
		{"asymmetric-dscp-static-queue-index", []string{"size", "100", "dscp_value", "from-tc", "tc_value", "1",
			"queue_index", "1"}, []string{"SIZE", "100", "DSCP_RESOLUTION_MODE", "FROM_TC", "DSCP_VALUE", "20",
			"TC_VALUE", "1", "QUEUE_RESOLUTION_MODE", "STATIC", "QUEUE_INDEX", "1"}},
		{"asymmetric-dscp-dynamic-queue-index", []string{"size", "200", "dscp_value", "from-tc", "tc_value", "2",
			"queue_index", "dynamic"}, []string{"SIZE", "200", "DSCP_RESOLUTION_MODE", "FROM_TC", "DSCP_VALUE", "20",
			"TC_VALUE", "2", "QUEUE_RESOLUTION_MODE", "DYNAMIC", "QUEUE_INDEX", "1"}},
	} {
		s.update(trimKey, tt.row...)
		s.verifySwitch(tt.name, tt.attrs...)
		s.status(schema.AppTrimming, schema.TrimmingKey, "active")
	}
}

func Test_TrimAsymToSymMigration(t *testing.T) {
	s := newTrim(t)
	asymmetric := func() {
		t.Helper()
		s.update(trimKey, "size", "200", "dscp_value", "from-tc", "tc_value", "2", "queue_index", "2")
		s.verifySwitch("asymmetric", "SIZE", "200", "DSCP_RESOLUTION_MODE", "FROM_TC", "TC_VALUE", "2",
			"QUEUE_RESOLUTION_MODE", "STATIC", "QUEUE_INDEX", "2")
	}
	asymmetric()
	s.update(trimKey, "size", "100", "dscp_value", "10", "queue_index", "1")
	s.verifySwitch("symmetric", "SIZE", "100", "DSCP_RESOLUTION_MODE", "DSCP_VALUE", "DSCP_VALUE", "10",
		"QUEUE_RESOLUTION_MODE", "STATIC", "QUEUE_INDEX", "1")
	s.update(trimKey, "tc_value", "5")
	s.verifySwitch("a TC that does not count", "TC_VALUE", "2")
	asymmetric()
}

func Test_TrimNegValueOutOfBound(t *testing.T) {
	s := newTrim(t)
	s.update(trimKey, "size", "100", "dscp_value", "from-tc", "tc_value", "1", "queue_index", "1")
	s.update(trimKey, "size", "100", "dscp_value", "10", "queue_index", "1")
	verify := func(what string) {
		t.Helper()
		s.verifySwitch(what, "SIZE", "100", "DSCP_RESOLUTION_MODE", "DSCP_VALUE", "DSCP_VALUE", "10", "TC_VALUE", "1",
			"QUEUE_RESOLUTION_MODE", "STATIC", "QUEUE_INDEX", "1")
	}
	verify("at first")
	for _, f := range []struct{ field, good, want string }{
		{"size", "100", "want a number in 0..4294967295"}, {"dscp_value", "10", "want a number in 0..63 or from-tc"},
		{"tc_value", "1", "want a number in 0..255"}, {"queue_index", "1", "want a number in 0..255 or dynamic"},
	} {
		most := map[string]string{"size": "4294967296", "dscp_value": "64"}[f.field]
		for _, bad := range []string{"", "-1", cmp.Or(most, "256")} {
			s.update(trimKey, f.field, bad)
			verify(f.field + " " + bad)
			why := fmt.Sprintf("failed: %s %q: %s", f.field, bad, f.want)
			if bad == "" {
				why = fmt.Sprintf("failed: %s is empty: %s", f.field, f.want)
			}
			s.status(schema.AppTrimming, schema.TrimmingKey, why)
			s.update(trimKey, f.field, f.good)
			s.status(schema.AppTrimming, schema.TrimmingKey, "active")
		}
	}
	verify("at the end")
}

// verifyProfile compares the action of a buffer profile in ASIC_DB.
func (s trimSwitch) verifyProfile(what, queue, want string) {
	s.Helper()
	q := s.asic("QUEUE", s.oid(schema.CountersQueueNameMap, queue))
	got := s.asic("BUFFER_PROFILE", q["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"])
	if a := got["SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION"]; a !=
		"SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_"+want {
		s.Errorf("%s: the profile has %q, want %s", what, a, want)
	}
}

// profileConfiguration checks that a change of the action of a profile reaches the ASIC.
func profileConfiguration(t *testing.T, s trimSwitch) {
	t.Helper()
	const queue = "Ethernet3:1"
	was := s.asic("QUEUE", s.oid(schema.CountersQueueNameMap, queue))["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"]
	for action, want := range map[string]string{"drop": "DROP", "trim": "DROP_AND_TRIM"} {
		s.update(profileKey, "packet_discard_action", action)
		s.verifyProfile(action, queue, want)
		s.status(schema.AppBufferProfile, trimProfile, "active")
	}
	if is := s.asic("QUEUE", s.oid(schema.CountersQueueNameMap, queue))["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"]; is != was {
		t.Errorf("the queue has profile %s, had %s", is, was)
	}
	s.update(profileKey, "packet_discard_action", "trimm")
	s.status(schema.AppBufferProfile, trimProfile, `failed: packet_discard_action "trimm": want drop or trim`)
}

func Test_TrimStaticBufferProfileConfiguration(t *testing.T) { profileConfiguration(t, newTrim(t)) }

func Test_TrimDynamicBufferProfileConfiguration(t *testing.T) { profileConfiguration(t, newDynamic(t)) }

// newDynamic returns a switch with SONiC's dynamic buffer model, and thresholds that depend on what is free.
func newDynamic(t *testing.T) trimSwitch {
	s := newTrim(t)
	s.update("DEVICE_METADATA|localhost", "buffer_model", "dynamic")
	s.config(profileKey, swss.FieldValues{"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "-6",
		"packet_discard_action": "trim"})
	s.status(schema.AppBufferProfile, trimProfile, "active")
	return s
}

// attach checks that rows about priority groups, and lists of profiles, keep their profile when they name one that
// trims. If edits is true, the profile is named first, and its change is refused.
func attach(t *testing.T, s trimSwitch, edits bool) {
	t.Helper()
	s.config("BUFFER_POOL|ingress_lossless_pool", swss.FieldValues{"type": "ingress", "mode": "dynamic", "size": "500000"})
	for _, x := range []struct{ table, key, field, pool string }{
		{schema.CfgBufferPG, "Ethernet0|0", "profile", "ingress_lossless_pool"},
		{schema.CfgBufferIngress, "Ethernet0", "profile_list", "ingress_lossless_pool"},
		{schema.CfgBufferEgress, "Ethernet0", "profile_list", "egress_lossy_pool"},
	} {
		name := "trim_" + strings.ToLower(x.table)
		profile := "BUFFER_PROFILE|" + name
		fields := swss.FieldValues{"pool": x.pool, "size": "0", "dynamic_th": "3"}
		s.config(profile, fields)
		s.config("BUFFER_PROFILE|default_"+name, fields)
		use := func(what, profile, status string) {
			t.Helper()
			s.config(x.table+"|"+x.key, swss.FieldValues{x.field: profile})
			s.status(x.table+"_TABLE", x.key, status)
		}
		used := func() string {
			if x.table == schema.CfgBufferPG {
				pg := s.oid(schema.CountersPGNameMap, "Ethernet0:0")
				return s.asic("INGRESS_PRIORITY_GROUP", pg)["SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"]
			}
			side := map[bool]string{true: "INGRESS", false: "EGRESS"}[x.table == schema.CfgBufferIngress]
			port := s.asic("PORT", s.oid(schema.CountersPortNameMap, "Ethernet0"))
			return port["SAI_PORT_ATTR_QOS_"+side+"_BUFFER_PROFILE_LIST"]
		}
		use("at first", "default_"+name, "active")
		usual := used()
		if edits {
			use("edit", name, "active")
			was := used()
			s.update(profile, "packet_discard_action", "trim")
			s.status(schema.AppBufferProfile, name,
				`failed: packet_discard_action "trim": `+x.table+"|"+x.key+" uses the profile")
			_, oid, _ := strings.Cut(":"+was, ":oid:")
			oid = "oid:" + oid
			if a := s.asic("BUFFER_PROFILE", oid)["SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION"]; used() != was ||
				!strings.HasSuffix(a, "_ACTION_DROP") {
				t.Errorf("%s: edited: %s with %s, want %s", x.table, used(), a, was)
			}
			devicetest.NoError(t, s.RestartOrchagent(t.Context()))
			devicetest.RunUntilIdle(t, s.Sim)
			if used() != was {
				t.Errorf("%s: a restart changed the profile to %s, want %s", x.table, used(), was)
			}
			use("edit", "default_"+name, "active")
			continue
		}
		s.update(profile, "packet_discard_action", "trim")
		use("attach", name, `failed: buffer profile "`+name+`" has packet_discard_action trim: want one without for`)
		if used() != usual {
			t.Errorf("%s: attached: %s, want %s", x.table, used(), usual)
		}
		use("attach", "default_"+name, "active")
		if used() != usual {
			t.Errorf("%s: the default again: %s, want %s", x.table, used(), usual)
		}
	}
}

func Test_TrimNegStaticBufferProfileAttach(t *testing.T) { attach(t, newTrim(t), false) }

func Test_TrimNegStaticBufferProfileEdit(t *testing.T) { attach(t, newTrim(t), true) }

func Test_TrimNegDynamicBufferProfileAttach(t *testing.T) { attach(t, newDynamic(t), false) }

func Test_TrimNegDynamicBufferProfileEdit(t *testing.T) { attach(t, newDynamic(t), true) }

// The statistics are made by packets, not by setting them. Queue 6 admits one trimmed frame at a time while it is
// blocked, so that some are dropped.
func trimStats(t *testing.T) (s trimSwitch, trimmed, sent, dropped int) {
	t.Helper()
	s = newTrim(t)
	s.fill(3)
	was := s.counters(schema.CountersQueueNameMap, "Ethernet3:1")
	before := [3]int{was("SAI_QUEUE_STAT_TRIM_PACKETS"), was("SAI_QUEUE_STAT_TX_TRIM_PACKETS"),
		was("SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS")}
	f := trimFrame{size: 1500, dscp: 8, to: 3}
	s.trimmed("queue 6 is open", 100, f, 256, 48)
	s.update("BUFFER_PROFILE|small", "pool", "egress_lossy_pool", "size", "0", "static_th", "1024")
	s.update("BUFFER_QUEUE|Ethernet3|6", "profile", "small")
	s.update("QUEUE|Ethernet3|6", "scheduler", "SCHEDULER_BLOCK_DATA_PLANE")
	left := s.send(100, f)["256/48"]
	held, _ := s.Chip.QueueState(3, 6)
	sent = before[1] + 100 + left
	dropped = before[2] + 100 - left - int(held.Packets)
	return s, before[0] + 200, sent, dropped
}

func Test_TrimSwitchStats(t *testing.T) {
	s, _, sent, dropped := trimStats(t)
	got := s.counters(schema.CountersSwitchNameMap, schema.SwitchName)
	if tx, drop := got("SAI_SWITCH_STAT_TX_TRIM_PACKETS"), got("SAI_SWITCH_STAT_DROPPED_TRIM_PACKETS"); tx != sent ||
		drop != dropped || drop < 50 {
		t.Errorf("%d sent, %d dropped, want %d, %d", tx, drop, sent, dropped)
	}
}

func Test_TrimPortStats(t *testing.T) {
	s, trimmed, sent, dropped := trimStats(t)
	got := s.counters(schema.CountersPortNameMap, "Ethernet3")
	is := [3]int{got("SAI_PORT_STAT_TRIM_PACKETS"), got("SAI_PORT_STAT_TX_TRIM_PACKETS"),
		got("SAI_PORT_STAT_DROPPED_TRIM_PACKETS")}
	if want := [3]int{trimmed, sent, dropped}; is != want {
		t.Errorf("%v, want %v", is, want)
	}
}

func Test_TrimQueueStats(t *testing.T) {
	s, trimmed, sent, dropped := trimStats(t)
	got := s.counters(schema.CountersQueueNameMap, "Ethernet3:1")
	is := [3]int{got("SAI_QUEUE_STAT_TRIM_PACKETS"), got("SAI_QUEUE_STAT_TX_TRIM_PACKETS"),
		got("SAI_QUEUE_STAT_DROPPED_TRIM_PACKETS")}
	if want := [3]int{trimmed, sent, dropped}; is != want {
		t.Errorf("%v, want %v", is, want)
	}
	if other := s.counters(schema.CountersQueueNameMap, "Ethernet3:6"); other("SAI_QUEUE_STAT_TRIM_PACKETS") != 0 {
		t.Error("the queue of trimmed packets counts them")
	}
}
