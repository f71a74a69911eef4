package fates

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// find returns the virtual id of the first object of a type with an attribute of some value.
func (f *fated) find(kind sai.ObjectType, attr, value string) string {
	f.Helper()
	db := f.Redis.DB(swss.ASICDB).Client()
	prefix := "ASIC_STATE:" + kind.String() + ":"
	rows, err := db.Keys(f.Context(), prefix+"*").Result()
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(rows)
	for _, row := range rows {
		if got, _ := db.HGet(f.Context(), row, attr).Result(); got == value || attr == "" {
			return strings.TrimPrefix(row, prefix)
		}
	}
	f.Fatalf("no %s with %s=%s", kind, attr, value)
	return ""
}

// real returns the chip's object for a virtual id.
func (f *fated) real(vid string) sai.OID {
	f.Helper()
	rid, err := f.Redis.DB(swss.ASICDB).Client().HGet(f.Context(), protocol.KeyVIDToRID, vid).Result()
	if err != nil {
		f.Fatal(vid, err)
	}
	oid, err := sai.ParseOID(rid)
	if err != nil {
		f.Fatal(err)
	}
	return oid
}

func (f *fated) portVID(name string) string {
	f.Helper()
	vid, err := f.Redis.DB(swss.CountersDB).Client().HGet(f.Context(), "COUNTERS_PORT_NAME_MAP", name).Result()
	if err != nil {
		f.Fatal(err)
	}
	return vid
}

func (f *fated) saiSet(k sai.Key, id sai.AttrID, v sai.Value) {
	f.Helper()
	devicetest.NoError(f.T, f.Chip.Set(f.Context(), k, sai.Attr{ID: id, Value: v}))
}

func (f *fated) switchOID() sai.OID { return f.real(f.find(sai.ObjectTypeSwitch, "", "")) }

// rif returns the router interface of a port.
func (f *fated) rif(port string) (vid string, oid sai.OID) {
	vid = f.find(sai.ObjectTypeRouterInterface, "SAI_ROUTER_INTERFACE_ATTR_PORT_ID", f.portVID(port))
	return vid, f.real(vid)
}

// beyond sets attributes by SAI that no row of CONFIG_DB sets, in chip and model, each with a chance of one in n. The
// ports are those of a fateGenerator: Ethernet0 may be bridged, Ethernet3 and 4 are routed.
func (f *fated) beyond(rnd *rand.Rand, n int) {
	f.Helper()
	sometimes := func() bool { return rnd.IntN(n) == 0 }
	m, sw := f.model, f.switchOID()
	if len(m.places["Ethernet0"].tagging) > 0 && sometimes() {
		bp := f.find(sai.ObjectTypeBridgePort, "SAI_BRIDGE_PORT_ATTR_PORT_ID", f.portVID("Ethernet0"))
		f.saiSet(sai.Obj(sai.ObjectTypeBridgePort, f.real(bp)), sai.BridgePortAttrFDBLearningMode,
			sai.BridgePortFDBLearningModeDrop)
		m.learnDrops["Ethernet0"] = true
	}
	for _, port := range []string{"Ethernet1", "Ethernet3"} {
		key := sai.Obj(sai.ObjectTypePort, f.real(f.portVID(port)))
		if sometimes() {
			f.saiSet(key, sai.PortAttrDropTagged, sai.Bool(true))
			m.tagDrops[port] = true
		} else if sometimes() {
			f.saiSet(key, sai.PortAttrDropUntagged, sai.Bool(true))
			m.plainDrops[port] = true
		}
	}
	if sometimes() {
		f.saiSet(sai.Obj(sai.ObjectTypeSwitch, sw), sai.SwitchAttrFDBUnicastMissPacketAction, sai.PacketActionDrop)
		m.missDrops = true
	}
	for k, e := range m.fdb {
		if e.static && sometimes() {
			vlan := f.real(f.find(sai.ObjectTypeVLAN, "SAI_VLAN_ATTR_VLAN_ID", fmt.Sprint(k.vlan)))
			b, _ := hex.DecodeString(strings.ReplaceAll(k.mac, ":", ""))
			f.saiSet(sai.EntryKey(sai.FDBEntry{Switch: sw, MAC: sai.MAC(b), BV: vlan}), sai.FDBEntryAttrPacketAction,
				sai.PacketActionDrop)
			m.deadMACs[k] = true
		}
	}
	vid, rif := f.rif("Ethernet4")
	if sometimes() {
		f.saiSet(sai.Obj(sai.ObjectTypeRouterInterface, rif), sai.RouterInterfaceAttrAdminV4State, sai.Bool(false))
		m.down4["Ethernet4"] = true
	}
	if sometimes() {
		f.saiSet(sai.Obj(sai.ObjectTypeRouterInterface, rif), sai.RouterInterfaceAttrAdminV6State, sai.Bool(false))
		m.down6["Ethernet4"] = true
	}
	_, rif = f.rif("Ethernet3")
	if sometimes() {
		h := modelHop{"Ethernet3", netip.MustParseAddr("10.3.0.2")}
		f.saiSet(sai.EntryKey(sai.NeighborEntry{Switch: sw, RIF: rif, IP: h.addr}), sai.NeighborEntryAttrPacketAction,
			sai.PacketActionDrop)
		m.deadHosts[h] = true
	}
	db := f.Redis.DB(swss.ASICDB).Client()
	router, err := db.HGet(f.Context(), "ASIC_STATE:"+sai.ObjectTypeRouterInterface.String()+":"+vid,
		"SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID").Result()
	if err != nil {
		f.Fatal(err)
	}
	route := func(prefix string, attrs ...sai.Attr) {
		e := sai.RouteEntry{Switch: sw, VR: f.real(router), Dest: netip.MustParsePrefix(prefix)}
		devicetest.NoError(f.T, f.Chip.CreateEntry(f.Context(), e, attrs))
	}
	if sometimes() {
		route("203.0.113.0/24", sai.Attr{ID: sai.RouteEntryAttrPacketAction, Value: sai.PacketActionForward})
		m.routes = append(m.routes, modelRoute{prefix: netip.MustParsePrefix("203.0.113.0/24"), nowhere: true})
	}
	if sometimes() {
		group, err := f.Chip.Create(f.Context(), sai.ObjectTypeNextHopGroup,
			[]sai.Attr{{ID: sai.NextHopGroupAttrType, Value: sai.NextHopGroupTypeEcmp}})
		if err != nil {
			f.Fatal(err)
		}
		route("203.0.113.128/25", sai.Attr{ID: sai.RouteEntryAttrNextHopID, Value: group})
		m.routes = append(m.routes, modelRoute{prefix: netip.MustParsePrefix("203.0.113.128/25")})
	}
}

// fateActs returns a switch whose Ethernet0 to 3 and PortChannel1 are bridged, and whose Ethernet4 is routed.
func fateActs() device.ConfigDB {
	c := newFateTables()
	for i := range 8 {
		c["PORT"][fmt.Sprint("Ethernet", i)] = swss.FieldValues{"lanes": fmt.Sprint(i), "speed": "10000",
			"admin_status": "up"}
	}
	c["PORTCHANNEL"]["PortChannel1"] = swss.FieldValues{"static": "true"}
	c["PORTCHANNEL_MEMBER"]["PortChannel1|Ethernet5"],
		c["PORTCHANNEL_MEMBER"]["PortChannel1|Ethernet6"] = swss.FieldValues{}, swss.FieldValues{}
	c["VLAN"]["Vlan10"] = swss.FieldValues{"vlanid": "10"}
	for i, p := range []string{"Ethernet0", "Ethernet1", "Ethernet2", "Ethernet3", "PortChannel1"} {
		c["VLAN_MEMBER"]["Vlan10|"+p] = swss.FieldValues{"tagging_mode": "untagged"}
		c["FDB"][fmt.Sprintf("Vlan10|%s", fateHost(i))] = swss.FieldValues{"port": p}
	}
	c["INTERFACE"]["Ethernet4"], c["INTERFACE"]["Ethernet4|10.4.0.1/24"] = swss.FieldValues{}, swss.FieldValues{}
	c["NEIGH"]["Ethernet4|10.4.0.2"] = swss.FieldValues{"neigh": "02:00:00:00:04:02"}
	return c
}

func fateHost(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i) }

// plain returns a numbered UDP frame of n bytes, from one of the bridged places to another, with a destination port.
func (f *fated) plain(from, to, n int, dport uint16) []byte {
	mac := func(s string) []byte { b, _ := hex.DecodeString(strings.ReplaceAll(s, ":", "")); return b }
	b := slices.Concat(mac(fateHost(to)), mac(fateHost(from)), []byte{8, 0, 0x45, 0, byte((n - 14) >> 8), byte(n - 14), 0,
		0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0})
	b = binary.BigEndian.AppendUint16(b, dport)
	b = binary.BigEndian.AppendUint16(b, uint16(n-34))
	b = append(b, 0, 0)
	b = append(b, fmt.Sprintf("%08d", len(f.order))...)
	return append(b, make([]byte, n-len(b))...)
}

// actRouted routes a frame out of a VLAN, to an interface that is down for IPv4.
func (f *fated) actRouted() {
	f.Helper()
	f.set("VLAN_INTERFACE|Vlan10", swss.FieldValues{"NULL": "NULL"})
	f.set("VLAN_INTERFACE|Vlan10|10.10.0.1/24", swss.FieldValues{"NULL": "NULL"})
	_, rif := f.rif("Ethernet4")
	up := func(is bool) {
		f.saiSet(sai.Obj(sai.ObjectTypeRouterInterface, rif), sai.RouterInterfaceAttrAdminV4State, sai.Bool(is))
		f.model.down4["Ethernet4"] = !is
	}
	frame := f.plain(0, 0, 100, 9)
	mac, err := hex.DecodeString(strings.ReplaceAll(f.model.mac, ":", ""))
	if err != nil {
		f.Fatal(err)
	}
	copy(frame, mac)
	copy(frame[30:], []byte{10, 4, 0, 2})
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(frame[i:]))
	}
	binary.BigEndian.PutUint16(frame[24:], ^uint16(sum&0xffff+sum>>16))
	up(false)
	f.come("Ethernet0", frame)
	up(true)
	f.actEncapsulated(frame[:12])
	f.set("VLAN_INTERFACE|Vlan10|10.10.0.1/24", nil)
	f.set("VLAN_INTERFACE|Vlan10", nil)
}

// actEncapsulated sends encapsulated packets to an address where headers of alternate marking end, and to another.
func (f *fated) actEncapsulated(macs []byte) {
	f.Helper()
	f.set("VLAN_INTERFACE|Vlan10|2001:db8:10::1/64", swss.FieldValues{"NULL": "NULL"})
	f.set("VLAN_INTERFACE|Vlan10|2001:db8:10::2/64", swss.FieldValues{"NULL": "NULL"})
	text := `{"attributes":[{"flow":{"value":{"index":1,"flow-mon-id":2,"decap":{"src":"2001:db8:10::9",` +
		`"dst":"2001:db8:10::1"}}}}]}`
	oid, err := f.Chip.Create(f.Context(), sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(altmark.ObjectFlow)},
		{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.model.decaps = netip.MustParseAddr("2001:db8:10::1")
	for _, to := range []string{"2001:db8:10::1", "2001:db8:10::2"} {
		src, dst := netip.MustParseAddr("2001:db8:10::9").As16(), netip.MustParseAddr(to).As16()
		outer := slices.Concat(macs, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 40, 41, 64}, src[:], dst[:])
		inner := slices.Concat([]byte{0x60, 0, 0, 0, 0, 0, 59, 64}, src[:], dst[:])
		f.come("Ethernet0", slices.Concat(outer, inner))
	}
	devicetest.NoError(f.T, f.Chip.Remove(f.Context(), sai.Obj(sai.ObjectTypeGenericProgrammable, oid)))
	f.model.decaps = netip.Addr{}
	f.set("VLAN_INTERFACE|Vlan10|2001:db8:10::1/64", nil)
	f.set("VLAN_INTERFACE|Vlan10|2001:db8:10::2/64", nil)
}

// act produces, one after the other, the fates that random traffic does not reach.
func (f *fated) act() {
	f.Helper()
	f.actRouted()
	f.come("Ethernet0", f.plain(0, 3, 200, 1), make([]byte, 13), append(make([]byte, 12), 0x81, 0, 0, 10, 8),
		f.plain(0, 3, 200, 2))
	full := func(pool, static, reason string) {
		f.set("BUFFER_POOL|P", swss.FieldValues{"type": "egress", "mode": "static", "size": pool})
		profile := swss.FieldValues{"pool": "P", "size": "0", "static_th": static}
		if reason == drop.TrimQueue.String() {
			profile["packet_discard_action"] = "trim"
		}
		f.set("BUFFER_PROFILE|F", profile)
		f.set("BUFFER_QUEUE|Ethernet3|0-1", swss.FieldValues{"profile": "F"})
		f.model.queueFull["Ethernet3"] = reason
		f.come("Ethernet0", f.plain(0, 3, 200, 1))
		f.come("Ethernet0", f.plain(0, 2, 200, 1))
		f.model.queueFull["Ethernet3"] = ""
		f.set("BUFFER_QUEUE|Ethernet3|0-1", nil)
		f.set("BUFFER_PROFILE|F", nil)
		f.set("BUFFER_POOL|P", nil)
	}
	full("20000", "64", drop.QueueLimit.String())
	full("64", "20000", drop.Buffer.String())
	f.set("SWITCH_TRIMMING|GLOBAL", swss.FieldValues{"size": "128", "dscp_value": "10", "queue_index": "1"})
	full("64", "20000", drop.TrimQueue.String())
	f.set("BUFFER_POOL|I", swss.FieldValues{"type": "ingress", "mode": "static", "size": "20000"})
	f.set("BUFFER_PROFILE|G", swss.FieldValues{"pool": "I", "size": "0", "static_th": "64"})
	f.set("BUFFER_PG|Ethernet0|0", swss.FieldValues{"profile": "G"})
	f.model.groupFull = "Ethernet0"
	f.come("Ethernet0", f.plain(0, 3, 200, 1))
	f.come("Ethernet1", f.plain(1, 3, 200, 1))
	f.model.groupFull = ""
	for _, row := range []string{"BUFFER_PG|Ethernet0|0", "BUFFER_PROFILE|G", "BUFFER_POOL|I"} {
		f.set(row, nil)
	}
	// Three frames arrive at once. The first is sent, the second finds the queue empty, and the third finds it
	// occupied.
	f.set("WRED_PROFILE|W", swss.FieldValues{"wred_green_enable": "true", "green_min_threshold": "1",
		"green_max_threshold": "2", "green_drop_probability": "100"})
	f.set("QUEUE|Ethernet3|0", swss.FieldValues{"wred_profile": "W"})
	f.begin("Ethernet0", f.plain(0, 3, 200, 1))
	f.begin("Ethernet1", f.plain(1, 3, 200, 1))
	f.model.queueFull["Ethernet3"] = drop.WRED.String()
	f.begin("Ethernet2", f.plain(2, 3, 200, 1))
	f.model.queueFull["Ethernet3"] = ""
	f.wait(20_000)
	f.set("PORT|Ethernet2", swss.FieldValues{"lanes": "2", "speed": "10000", "admin_status": "up", "mtu": "500"})
	for _, n := range []int{522 - 4, 522 - 3} { // the largest length that passes, and one byte more
		f.come("Ethernet0", f.plain(0, 2, n, 1))
		f.come("Ethernet2", f.plain(2, 1, n, 1))
	}
	f.set("COPP_GROUP|few", swss.FieldValues{"trap_action": "trap", "queue": "1", "meter_type": "packets",
		"mode": "sr_tcm", "cir": "1", "cbs": "2", "red_action": "drop"})
	f.set("COPP_TRAP|few", swss.FieldValues{"trap_ids": "lldp", "trap_group": "few", "always_enabled": "true"})
	f.model.tokens["lldp"] = 2
	for range 4 {
		lldp := f.plain(0, 3, 100, 1)
		copy(lldp, []byte{1, 0x80, 0xc2, 0, 0, 0x0e})
		f.come("Ethernet0", lldp)
	}
	for _, p := range []string{"Ethernet5", "Ethernet6"} {
		f.set("PORT|"+p, swss.FieldValues{"lanes": p[8:], "speed": "10000", "admin_status": "down"})
	}
	f.come("Ethernet0", f.plain(0, 4, 100, 1))
	f.come("Ethernet5", f.plain(4, 0, 100, 1))
	f.set("VLAN|Vlan30", swss.FieldValues{"vlanid": "30"})
	f.set("VLAN_MEMBER|Vlan30|Ethernet1", swss.FieldValues{"tagging_mode": "tagged"})
	alone := f.plain(1, 3, 100, 1)
	f.come("Ethernet1", slices.Concat(alone[:12], []byte{0x81, 0, 0, 30}, alone[12:]))
	f.programs()
	// When the port is removed, the first frame is on the wire and the second waits.
	f.begin("Ethernet0", f.plain(0, 3, 1000, 1))
	f.model.queueFull["Ethernet3"] = drop.PortRemoved.String()
	f.begin("Ethernet1", f.plain(1, 3, 1000, 1))
	f.wait(1_500)
	f.removed = "Ethernet3"
	if err := f.Redis.DB(swss.ConfigDB).Client().Del(f.Context(), "PORT|Ethernet3",
		"VLAN_MEMBER|Vlan10|Ethernet3").Err(); err != nil {
		f.Fatal(err)
	}
	devicetest.RunUntilIdle(f.T, f.Sim)
}

// fateProgram is a program that drops frames by UDP port in both pipes.
const fateProgram = `{"name": "filters",
	"ingress": {"tables": [{"name": "filter", "stage": 0, "match": "exact", "size": 4, "key": [{"field": "l4.dst"}],
		"actions": [{"name": "drop", "ops": [{"do": "set", "to": "ctl.drop", "a": {"const": 1}}]}], "entries": [{"id": 1,
		 "key": [{"value": 7777}], "action": "drop"}]}]},
	"egress": {"tables": [{"name": "filter", "stage": 0, "match": "exact", "size": 4, "key": [{"field": "l4.dst"}],
		"actions": [{"name": "drop", "ops": [{"do": "set", "to": "ctl.drop", "a": {"const": 1}}]}], "entries": [{"id": 1,
		 "key": [{"value": 8888}], "action": "drop"}]}]}}`

// programs loads a program into both pipes.
func (f *fated) programs() {
	f.Helper()
	f.planned()
	program, err := pipe.Read(strings.NewReader(fateProgram))
	if err != nil {
		f.Fatal(err)
	}
	devicetest.NoError(f.T, f.Chip.Control(f.Chip.Now(), saisim.Batch{Batch: pipe.Batch{Program: program}}))
	f.wait(f.Chip.CycleAt(2 * time.Second)) // by then, a plan for the new graph exists
	f.model.early, f.model.late = 7777, 8888
	for _, dport := range []uint16{7777, 8888, 9999} {
		f.come("Ethernet0", f.plain(0, 3, 100, dport))
	}
}
