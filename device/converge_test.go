package device

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/asicview"
	"tamtam/sai/saitest"
	"tamtam/saisim/profile"

	"tamtam/device/daemons"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A randomConfig writes random rows, right ones and wrong ones, over few names,
// so that they refer to each other, exclude each other, and go while in use.
type randomConfig struct{ *rand.Rand }

func (r randomConfig) pick(of ...string) string { return of[r.IntN(len(of))] }

// row returns a random row of a random table: its key in CONFIG_DB and its
// fields.
func (r randomConfig) row() (string, swss.FieldValues) {
	port := r.pick("Ethernet0", "Ethernet1", "Ethernet2", "Ethernet3", "etp1", "Ethernet77")
	lag := r.pick("PortChannel1", "PortChannel2", "PortChannel", "PortChannel1")
	vlan := r.pick("Vlan10", "Vlan20", "Vlan5000")
	group := r.pick("F1", "F2", "F3", "F|4")
	switch r.IntN(56) {
	case 0:
		n := r.IntN(4)
		return fmt.Sprintf("PORT|Ethernet%d", n), swss.FieldValues{
			"lanes": r.pick(fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n), "0", "0,1", "x", "900"),
			"speed": r.pick("10000", "10000", "7"),
			"alias": r.pick(fmt.Sprintf("etp%d", n+1), "etp1"), "mtu": r.pick("9100", "1500", "70000"),
			"admin_status": r.pick("up", "down", "sideways"),
		}
	case 1:
		return "PORTCHANNEL|" + lag, swss.FieldValues{"admin_status": r.pick("up", "down"), "mtu": r.pick("9100", "0")}
	case 2:
		return "PORTCHANNEL_MEMBER|" + lag + "|" + port, swss.FieldValues{"NULL": "NULL"}
	case 3:
		return "VLAN|" + vlan, swss.FieldValues{"vlanid": r.pick("10", "20", "9999")}
	case 4:
		return "VLAN_MEMBER|" + vlan + "|" + r.pick(port, lag),
			swss.FieldValues{"tagging_mode": r.pick("tagged", "untagged", "sometimes")}
	case 5:
		return "ACL_TABLE|" + r.pick("T1", "T2"), swss.FieldValues{
			"type": r.pick("L3", "L3", "L3V6", "NONE"), "stage": r.pick("ingress", "egress", "middle"),
			"ports@": r.pick("Ethernet0", "Ethernet0,Ethernet2", "PortChannel1", "Ethernet77"),
		}
	case 6:
		return "ACL_RULE|" + r.pick("T1", "T2") + "|" + r.pick("R1", "R2", "R3"), swss.FieldValues{
			"PRIORITY": r.pick("10", "20", "-1"), "SRC_IP": r.pick("10.0.0.0/8", "10.0.0.1", "300.0.0.0"),
			"L4_DST_PORT_RANGE": r.pick("1-10", "1-10", "20-3"), "PACKET_ACTION": r.pick("FORWARD", "DROP", "DANCE"),
		}
	case 7, 8:
		f := swss.FieldValues{"SRC_IP": r.pick("10.0.0.0/8", "10.1.0.0/16", "10.0.0.1"),
			"PRIORITY": r.pick("100", "200", "5000")}
		if r.IntN(2) == 0 {
			f["IN_PORTS"] = r.pick("Ethernet0", "Ethernet0,Ethernet1", "PortChannel1", "etp1", "Ethernet77")
		}
		if r.IntN(3) == 0 {
			f["L4_SRC_PORT_RANGE"] = r.pick("5-9", "7-7", "9")
		}
		return "ACL_RULE|TAM|" + group, f
	case 9:
		return "TAM_FLOWGROUP_TABLE|" + group,
			swss.FieldValues{"id": r.pick("1", "2", "3", "none"), "table-name": r.pick("TAM", "TAM", "T9")}
	case 10:
		f := swss.FieldValues{"flowgroup": group}
		if r.IntN(2) == 0 {
			f["clamp-mss"] = r.pick("1", "2", "8", "9")
		}
		return "TAM_TAILSTAMPING_TABLE|" + r.pick("S1", "S2", "S3"), f
	case 11:
		return "TAM_FEATURES_TABLE|" + r.pick("TAILSTAMPING", "TAILSTAMPING", "ALTMARK", "WINGS"),
			swss.FieldValues{"status": r.pick("ACTIVE", "ACTIVE", "INACTIVE", "MAYBE")}
	case 12, 13, 14, 15:
		return r.routing(port, lag, vlan)
	case 17, 18, 19, 20, 21, 22, 23:
		return r.qos(r.pick("Ethernet0", "Ethernet1", "Ethernet2", "Ethernet0,Ethernet3"))
	case 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35:
		return r.marking(r.pick("1", "2", "3"))
	case 36, 37, 38, 39, 40, 41, 42, 43:
		return r.sketching(r.pick("1", "2", "3"))
	case 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55:
		return r.recording(r.pick("1", "2", "3"))
	default:
		return "TAM_COLLECTORS_TABLE|" + r.pick("C1", "C2"),
			swss.FieldValues{"ipaddress": r.pick("192.0.2.9", "2001:db8::9", "nowhere"), "port": r.pick("4739", "0")}
	}
}

// marking returns a random row that sessions of alternate marking need, or one of
// those; mostly right ones, since it takes all of them to mark.
func (r randomConfig) marking(n string) (string, swss.FieldValues) {
	switch r.IntN(6) {
	case 0:
		return "TAM_FEATURES_TABLE|ALTMARK", swss.FieldValues{"status": r.pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "ACL_RULE|TAM|F" + n, swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": r.pick("100", "200")}
	}
	f := swss.FieldValues{
		"flowgroup": "F" + n, "role": r.pick("initiator", "transit", "terminator"),
		"method":   r.pick("step", "step", "pulse", "double", "muxed"),
		"interval": r.pick("0", "0", "-3"), "mark": r.pick("dscp0", "dscp1", "ipv4-reserved"),
	}
	if f["method"] == "double" {
		f["mark2"] = r.pick("dscp2", "dscp2", "dscp0")
	}
	if r.IntN(8) == 0 {
		f[r.pick("interval", "mark", "mark2")] = r.pick("9", "ecn", "dscp3")
	}
	if f["role"] == "terminator" {
		f["clear"] = r.pick("true", "false")
	}
	return "TAM_ALTMARK_TABLE|" + r.pick("A1", "A2", "A3"), f
}

// sketching returns a random row of a task of FlyMon, or what it needs.
func (r randomConfig) sketching(n string) (string, swss.FieldValues) {
	switch r.IntN(8) {
	case 0:
		return "TAM_FEATURES_TABLE|FLYMON", swss.FieldValues{"status": r.pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "TAM_FLYMON_QUERY_TABLE|Q" + n,
			swss.FieldValues{"task": "T" + r.pick("1", "2"), "flow": r.pick("10.0.0.1", "10.0.0.1,80")}
	}
	f := swss.FieldValues{
		"key":       r.pick("src-ip", "ip-pair", "5-tuple", "none"),
		"attribute": r.pick("frequency", "frequency", "frequency(bytes)", "max(size)", "distinct(dst-ip)"),
		"memory":    r.pick("96", "192", "384"), "epoch": r.pick("1000", "1000", "100", "0", "-1"),
		"threshold": r.pick("0", "50"), "plan": r.pick("false", "false", "false", "true"),
	}
	switch r.IntN(3) {
	case 0:
		f["flowgroup"] = "F" + n
	case 1:
		f["filter"] = r.pick("protocol=17", "dst-port=80-90", "nothing")
	}
	return "TAM_FLYMON_TASK_TABLE|T" + n, f
}

// recording returns a random row of a session of table recording, or what it needs; mostly right
// ones, since it takes all of them to record.
func (r randomConfig) recording(n string) (string, swss.FieldValues) {
	switch r.IntN(9) {
	case 0:
		return "TAM_FEATURES_TABLE|TABLERECORD", swss.FieldValues{"status": r.pick("ACTIVE", "ACTIVE", "ACTIVE", "INACTIVE")}
	case 1:
		return "TAM_FLOWGROUP_TABLE|F" + n, swss.FieldValues{"id": n}
	case 2:
		return "ACL_RULE|TAM|F" + n, swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": r.pick("100", "200")}
	case 3, 4, 5:
		return r.toCollector()
	}
	f := swss.FieldValues{
		"flowgroup": "F" + n, "collector": "C9", "phv": r.pick("8", "16", "8+8"), "mode": r.pick("exec", "exec+hit"),
		"encapsulation": r.pick("udp", "erspan"),
	}
	switch r.IntN(8) {
	case 0, 1:
		f["sampler"] = "E1"
	case 2:
		f["must-record"] = r.pick("chip.acl", "chip.fdb", "chip.wings")
	case 3:
		f[r.pick("phv", "truncate", "collector")] = r.pick("7", "C8")
	}
	return "TAM_TABLERECORD_TABLE|R" + n, f
}

// ground are rows to begin with: all that sessions of table recording need.
func (r randomConfig) ground() map[string]swss.FieldValues {
	rows := map[string]swss.FieldValues{
		"TAM_COLLECTORS_TABLE|C9":         {"ipaddress": "10.8.0.2", "port": "4739"},
		"TAM_FEATURES_TABLE|TABLERECORD":  {"status": "ACTIVE"},
		"PORT|Ethernet3":                  {"lanes": "3", "speed": "10000", "admin_status": "up"},
		"INTERFACE|Ethernet3":             {"NULL": "NULL"},
		"INTERFACE|Ethernet3|10.8.0.1/24": {"NULL": "NULL"}, "NEIGH|Ethernet3|10.8.0.2": {"neigh": "02:00:00:00:00:77"},
	}
	for _, n := range []string{"1", "2", "3"} {
		rows["TAM_FLOWGROUP_TABLE|F"+n] = swss.FieldValues{"id": n}
		rows["ACL_RULE|TAM|F"+n] = swss.FieldValues{"SRC_IP": "10." + n + ".0.0/16", "PRIORITY": "100"}
	}
	return rows
}

// toCollector returns a random row of those that lead to the collector C9.
func (r randomConfig) toCollector() (string, swss.FieldValues) {
	switch r.IntN(6) {
	case 0:
		return "TAM_COLLECTORS_TABLE|C9", swss.FieldValues{"ipaddress": "10.8.0.2", "port": r.pick("4739", "4740"),
			"protocol": r.pick("UDP", "UDP", "UDP", "TCP")}
	case 1:
		return "TAM_SAMPLINGRATE_TABLE|E1", swss.FieldValues{"sampling-rate": r.pick("1", "8", "8", "0")}
	case 2:
		return "NEIGH|Ethernet3|10.8.0.2", swss.FieldValues{"neigh": r.pick("02:00:00:00:00:77", "02:00:00:00:00:78")}
	case 3:
		return "INTERFACE|Ethernet3|10.8.0.1/24", swss.FieldValues{"NULL": "NULL"}
	case 4:
		return "INTERFACE|Ethernet3", swss.FieldValues{"NULL": "NULL"}
	}
	return "PORT|Ethernet3", swss.FieldValues{"lanes": "3", "speed": "10000", "admin_status": "up"}
}

// routing returns a random row of a table of routing or of the FDB.
func (r randomConfig) routing(port, lag, vlan string) (string, swss.FieldValues) {
	name := r.pick(port, lag, vlan, vlan)
	table := schema.InterfaceTable(name)
	switch r.IntN(9) {
	case 0, 1, 2:
		return r.pick(table, table, table, "INTERFACE") + "|" + name,
			swss.FieldValues{"mtu": r.pick("9100", "1500", "0"), "loopback_action": r.pick("drop", "forward")}
	case 3:
		return table + "|" + name + "|" + r.pick("10.0.1.1/24", "10.0.2.1/24", "10.0.2.9/16", "2001:db8::1/64",
			"10.0.1.0/24"), swss.FieldValues{"NULL": "NULL"}
	case 4:
		return "NEIGH|" + name + "|" + r.pick("10.0.1.2", "10.0.2.2", "2001:db8::2", "10.0.1.1"),
			swss.FieldValues{"neigh": r.pick("02:00:00:00:00:02", "02:00:00:00:00:03", "x")}
	case 5, 6:
		return "STATIC_ROUTE|" + r.pick("10.9.0.0/16", "default|10.9.0.0/16", "0.0.0.0/0", "10.0.1.0/24", "10.9.0.1/16"),
			swss.FieldValues{"nexthop": r.pick("10.0.1.2", "10.0.1.2,10.0.2.2", "10.0.1.2,10.0.2.2", "2001:db8::2"),
				"distance": r.pick("1", "1,2", "3,3")}
	case 7:
		return "FDB|" + vlan + "|" + r.pick("02:00:00:00:00:02", "02-00-00-00-00-03"),
			swss.FieldValues{"port": r.pick("Ethernet0", "Ethernet1", lag)}
	}
	return "SWITCH|switch", swss.FieldValues{"fdb_aging_time": r.pick("30", "60", "never")}
}

// qos returns a random row of the QoS, buffer and mirror tables.
func (r randomConfig) qos(ports string) (string, swss.FieldValues) {
	queues := ports + "|" + r.pick("0", "0-1", "1,3", "7-9")
	switch r.IntN(13) {
	case 10:
		group := swss.FieldValues{"trap_action": r.pick("copy", "trap", "drop"), "queue": r.pick("0", "4", "8"),
			"trap_priority": r.pick("1", "4")}
		if r.IntN(3) > 0 {
			maps.Copy(group, swss.FieldValues{
				"meter_type": r.pick("packets", "bytes"), "mode": r.pick("sr_tcm", "storm", "tr_tcm"), "cir": r.pick("600", "6000"),
				"cbs": r.pick("600", "600", "x"), "red_action": r.pick("drop", "drop", "forward", "copy"), "pir": "6000",
				"pbs": "10",
			})
		}
		return "COPP_GROUP|" + r.pick("G1", "G2", "default"), group
	case 11:
		return "COPP_TRAP|" + r.pick("arp", "lldp"),
			swss.FieldValues{"trap_ids": r.pick("arp_req", "lldp,arp_req", "bgp"), "trap_group": r.pick("G1", "G2"),
				"always_enabled": r.pick("true", "true", "false")}
	case 0:
		return r.pick("DSCP_TO_TC_MAP|A", "DSCP_TO_TC_MAP|B"),
			swss.FieldValues{r.pick("0", "46", "64"): r.pick("1", "5", "16"), "8": "2"}
	case 1:
		return "DOT1P_TO_TC_MAP|A", swss.FieldValues{r.pick("0", "7"): r.pick("1", "2")}
	case 2:
		return "TC_TO_QUEUE_MAP|A", swss.FieldValues{"1": r.pick("1", "2", "15"), "5": "3"}
	case 3:
		return "PORT_QOS_MAP|" + ports, swss.FieldValues{"dscp_to_tc_map": r.pick("A", "B"),
			r.pick("tc_to_queue_map", "dot1p_to_tc_map", "pfc_enable"): "A"}
	case 4:
		return "SCHEDULER|" + r.pick("S1", "S2"),
			swss.FieldValues{"type": r.pick("STRICT", "DWRR", "WRR", "NONE"), "weight": r.pick("1", "14", "200")}
	case 5:
		return "WRED_PROFILE|W", swss.FieldValues{
			"ecn": r.pick("ecn_all", "ecn_none", "ecn_red"), "wred_green_enable": r.pick("true", "false"),
			"green_min_threshold": r.pick("1000", "9000"), "green_max_threshold": r.pick("8000", "20000"),
			"green_drop_probability": r.pick("5", "100"),
		}
	case 6:
		return "QUEUE|" + queues, swss.FieldValues{"scheduler": r.pick("S1", "S2"),
			r.pick("wred_profile", "scheduler"): r.pick("W", "S1")}
	case 7:
		return "BUFFER_POOL|P", swss.FieldValues{"type": r.pick("egress", "both", "ingress"),
			"mode": r.pick("dynamic", "static"), "size": r.pick("20000", "40000")}
	case 8:
		return "BUFFER_PROFILE|" + r.pick("F1", "F2"),
			swss.FieldValues{"pool": "P", "size": r.pick("0", "1000"), r.pick("dynamic_th", "static_th"): r.pick("1", "3000")}
	case 9:
		return "BUFFER_QUEUE|" + queues, swss.FieldValues{"profile": r.pick("F1", "F2")}
	default:
		if r.IntN(2) == 0 {
			return "MIRROR_SESSION|" + r.pick("M1", "M2"),
				swss.FieldValues{"src_ip": "10.0.0.1", "dst_ip": r.pick("10.0.0.2", "10.0.1.2", "::9"), "dscp": r.pick("8", "9"),
					"src_port": r.pick("Ethernet1", "PortChannel1")}
		}
		return "MIRROR_SESSION|" + r.pick("M1", "M2"), swss.FieldValues{
			"type": "SPAN", "dst_port": r.pick("Ethernet3", "Ethernet2"),
			"src_port": r.pick("Ethernet0", "Ethernet0,Ethernet1", "PortChannel1"), "direction": r.pick("RX", "TX", "BOTH"),
		}
	}
}

// testSim starts a switch that only the test steps.
func testSim(t *testing.T, cfg SimConfig) *Sim {
	t.Helper()
	racetest.Stepped(t)
	return servedSim(t, cfg)
}

// servedSim starts a switch in simulated time for a test with other goroutines, such as a server that reads its
// databases.
func servedSim(t *testing.T, cfg SimConfig) *Sim {
	t.Helper()
	if cfg.Profile.ClockHz == 0 {
		cfg.Profile = profile.Small()
	}
	s, err := NewSim(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func settle(t *testing.T, s *Sim) {
	t.Helper()
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// drain lets the chip send what it holds, then polls all counters.
func drain(t *testing.T, s *Sim) {
	t.Helper()
	for at, ok := s.Chip.NextEvent(); ok; at, ok = s.Chip.NextEvent() {
		if err := s.Advance(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *Sim) string {
	t.Helper()
	return viewOf(t, s.Redis)
}

func viewOf(t *testing.T, r *swss.Redis) string {
	t.Helper()
	m := &marksAlike{lanes: map[int]string{}}
	if _, err := asicview.CanonicalView(t.Context(), r, m.see); err != nil {
		t.Fatal(err)
	}
	v, err := asicview.CanonicalView(t.Context(), r, m.replace)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var testMetadata = map[string]swss.FieldValues{"localhost": {"mac": "02:00:00:00:07:e4"}}

// Whatever was written in whatever order, and whoever was restarted in between,
// the ASIC is what the final configuration makes it when applied once.
func TestConfigurationConverges(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 8}, converge)
}

func converge(t *testing.T, seed uint64) {
	ctx := t.Context()
	rnd := randomConfig{rand.New(rand.NewPCG(seed, 4))}
	var inChip, inChipOnce *saitest.Recorder
	s := testSim(t, SimConfig{Config: ConfigDB{"DEVICE_METADATA": testMetadata}, Common: recording(&inChip)})
	db := s.Redis.DB(swss.ConfigDB).Client()
	final := rnd.ground()
	for key, row := range final {
		db.HSet(ctx, key, row)
	}
	for range 120 {
		key, row := rnd.row()
		if rnd.IntN(4) == 0 {
			delete(final, key)
			db.Del(ctx, key)
		} else {
			final[key] = row
			db.Del(ctx, key)
			db.HSet(ctx, key, row)
		}
		if err := disturb(ctx, rnd, s); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, s)
	if seed%4 == 1 { // it takes as long as the rest
		consistent(t, s)
	}
	once := testSim(t, SimConfig{Config: ConfigDB{"DEVICE_METADATA": testMetadata}, Common: recording(&inChipOnce)})
	for key, row := range final {
		once.Redis.DB(swss.ConfigDB).Client().HSet(ctx, key, row)
	}
	settle(t, once)
	if got, want := view(t, s), view(t, once); got != want {
		t.Errorf("the sequence (-) and the final configuration alone (+) give different ASICs:\n%s\nfinal configuration: %v",
			cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")), final)
	}
	if diff := cmp.Diff(byType(inChip.Live()), byType(inChipOnce.Live())); diff != "" {
		t.Errorf("objects leaked (-) or are missing (+) in the chip:\n%s", diff)
	}
}

// recording puts a recorder between syncd and the chip; after a restart of syncd
// it is another one.
func recording(rec **saitest.Recorder) daemons.Common {
	return daemons.Common{Backend: func(chip sai.API) sai.API {
		*rec = saitest.NewRecorder(chip)
		return *rec
	}}
}

// byType counts objects by their type. Ports and the switch are left out: some
// of the ports come with the chip, and which are removed and created again
// depends on the way.
func byType(keys []sai.Key) map[string]int {
	n := map[string]int{}
	for _, k := range keys {
		if k.Type != sai.ObjectTypePort && k.Type != sai.ObjectTypeSwitch {
			n[k.Type.String()]++
		}
	}
	return n
}

// disturb sometimes lets the daemons work, and sometimes restarts one.
func disturb(ctx context.Context, rnd randomConfig, s *Sim) error {
	switch rnd.IntN(24) {
	case 0:
		return s.RestartManagers(ctx)
	case 1:
		return s.RestartOrchagent(ctx)
	case 2:
		return s.RestartSyncd(ctx)
	case 3, 4, 5, 6, 7, 8:
		return s.Settle(ctx)
	}
	return nil
}

// A mirror session that sends to the port which it mirrors survives a restart of
// syncd, wherever the port's lanes were: the two name each other, and which is
// tried first is by chance, so this is tried several times.
func TestObjectsThatNameEachOtherComeBack(t *testing.T) {
	for range 8 {
		s := testSim(t, SimConfig{Config: ConfigDB{
			"DEVICE_METADATA":    testMetadata,
			"PORT":               {"Ethernet3": {"admin_status": "up", "lanes": "0,1", "speed": "10000"}},
			"PORTCHANNEL":        {"PortChannel1": {"admin_status": "up"}},
			"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet3": {"NULL": "NULL"}},
			"MIRROR_SESSION": {"M1": {"type": "SPAN", "dst_port": "Ethernet3", "src_port": "PortChannel1",
				"direction": "BOTH"}},
		}})
		settle(t, s)
		before := view(t, s)
		if err := s.RestartSyncd(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		if after := view(t, s); after != before {
			t.Fatalf("before (-) and after (+) the restart:\n%s", cmp.Diff(strings.Split(before, "\n"),
				strings.Split(after, "\n")))
		}
		if err := s.Redis.DB(swss.ConfigDB).Client().Del(t.Context(), "PORT|Ethernet3").Err(); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		if strings.Contains(view(t, s), "PORT lane 0\n") {
			t.Fatal("the port stays")
		}
	}
}
