package device_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// crowd lists kinds of objects for which the ASIC has little capacity. Each kind has the rows of CONFIG_DB by the
// object's number, and the types of its SAI objects.
var crowd = map[string]struct {
	types []sai.ObjectType
	rows  func(i int) map[string]swss.FieldValues
}{
	"mirror": {[]sai.ObjectType{sai.ObjectTypeMirrorSession}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{
			fmt.Sprint("MIRROR_SESSION|m", i): {"type": "SPAN", "dst_port": "Ethernet2"}}
	}},
	"scheduler": {[]sai.ObjectType{sai.ObjectTypeScheduler}, func(i int) map[string]swss.FieldValues {
		name := fmt.Sprint("s", i)
		return map[string]swss.FieldValues{
			"SCHEDULER|" + name:               {"type": "DWRR", "weight": fmt.Sprint(5 + i)},
			fmt.Sprint("QUEUE|Ethernet0|", i): {"scheduler": name}}
	}},
	"WRED": {[]sai.ObjectType{sai.ObjectTypeWRED}, func(i int) map[string]swss.FieldValues {
		name := fmt.Sprint("w", i)
		return map[string]swss.FieldValues{
			"WRED_PROFILE|" + name: {"wred_green_enable": "true", "green_min_threshold": fmt.Sprint(1000 + i),
				"green_max_threshold": "9000", "green_drop_probability": "5"},
			fmt.Sprint("QUEUE|Ethernet1|", i): {"wred_profile": name}}
	}},
	"buffer": {[]sai.ObjectType{sai.ObjectTypeBufferProfile}, func(i int) map[string]swss.FieldValues {
		name := fmt.Sprint("b", i)
		return map[string]swss.FieldValues{
			"BUFFER_PROFILE|" + name:                 {"pool": "P", "size": "0", "static_th": fmt.Sprint(640 * (1 + i))},
			fmt.Sprint("BUFFER_QUEUE|Ethernet2|", i): {"profile": name}}
	}},
	"neighbor": {[]sai.ObjectType{sai.ObjectTypeNeighborEntry}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{
			fmt.Sprint("NEIGH|Ethernet2|10.8.0.", 10+i): {"neigh": fmt.Sprintf("02:00:00:00:01:%02x", i)}}
	}},
	"route": {[]sai.ObjectType{sai.ObjectTypeRouteEntry}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{fmt.Sprintf("STATIC_ROUTE|20.%d.0.0/16", i): {"nexthop": "10.8.0.2"}}
	}},
	"group": {[]sai.ObjectType{sai.ObjectTypeNextHopGroup}, func(i int) map[string]swss.FieldValues {
		pair := [][2]int{{2, 3}, {2, 4}, {2, 5}, {3, 4}, {3, 5}, {4, 5}}[i]
		return map[string]swss.FieldValues{fmt.Sprintf("STATIC_ROUTE|30.%d.0.0/16", i): {
			"nexthop": fmt.Sprintf("10.8.0.%d,10.8.0.%d", pair[0], pair[1])}}
	}},
	"FDB": {[]sai.ObjectType{sai.ObjectTypeFDBEntry}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{fmt.Sprintf("FDB|Vlan10|02:00:00:00:02:%02x", i): {"port": "Ethernet0"}}
	}},
	"LAG": {[]sai.ObjectType{sai.ObjectTypeLAG}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{fmt.Sprint("PORTCHANNEL|PortChannel", i): {"admin_status": "up"}}
	}},
	"VLAN": {[]sai.ObjectType{sai.ObjectTypeVLAN}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{fmt.Sprint("VLAN|Vlan", 100+i): {"vlanid": fmt.Sprint(100 + i)}}
	}},
	"debug counter": {[]sai.ObjectType{sai.ObjectTypeDebugCounter}, func(i int) map[string]swss.FieldValues {
		name := fmt.Sprint("c", i)
		return map[string]swss.FieldValues{
			"DEBUG_COUNTER|" + name:                         {"type": "PORT_INGRESS_DROPS"},
			"DEBUG_COUNTER_DROP_REASON|" + name + "|L3_ANY": {"NULL": "NULL"}}
	}},
	"drop session": {[]sai.ObjectType{sai.ObjectTypeTAMReport}, func(i int) map[string]swss.FieldValues {
		return map[string]swss.FieldValues{
			fmt.Sprint("TAM_SESSION|d", i): {"type": "drop-monitor", "report_type": "ipfix", "collector@": "c"}}
	}},
	"tail-stamping": {[]sai.ObjectType{sai.ObjectTypeACLEntry}, func(i int) map[string]swss.FieldValues {
		name := fmt.Sprint("t", i)
		return map[string]swss.FieldValues{
			"TAM_FLOWGROUP_TABLE|" + name:    {"id": fmt.Sprint(20 + i)},
			"ACL_RULE|TAM|" + name:           {"SRC_IP": fmt.Sprintf("10.77.%d.0/24", i)},
			"TAM_TAILSTAMPING_TABLE|" + name: {"flowgroup": name}}
	}},
}

// A crowded is a switch with more configured objects than fit.
type crowded struct {
	*testing.T
	*device.Sim
	chip *full
}

func newCrowded(t *testing.T) *crowded {
	t.Helper()
	config := devicetest.RecordedPorts()
	config[schema.CfgTAMFeature] = map[string]swss.FieldValues{schema.FeatureTailStamping: {"status": "ACTIVE"}}
	delete(config, schema.CfgTAMTableRecord)
	config[schema.CfgTAMDestination] = map[string]swss.FieldValues{"c": {"dst_ip": "10.8.0.2", "dst_port": "4740"}}
	for i := range 3 {
		config["NEIGH"][fmt.Sprint("Ethernet2|10.8.0.", 3+i)] = swss.FieldValues{"neigh": fmt.Sprint("02:00:00:00:03:0", i)}
	}
	config["BUFFER_POOL"] = map[string]swss.FieldValues{"P": {"type": "egress", "mode": "static", "size": "65536"}}
	chip, cfg := filled(device.SimConfig{Config: config})
	chip.room = map[sai.ObjectType]int{}
	s := devicetest.NewSim(t, cfg)
	devicetest.RunUntilIdle(t, s)
	return &crowded{t, s, chip}
}

// limit sets the capacity to n further objects of the types that a kind needs.
func (c *crowded) limit(kind string, n int) {
	for _, of := range crowd[kind].types {
		c.chip.room[of] = c.chip.count(of) + n
	}
}

// wantFull checks that there is no free capacity while objects wait.
func (c *crowded) wantFull() {
	c.Helper()
	for of, most := range c.chip.room {
		if n := c.chip.count(of); n != most {
			c.Errorf("%d objects of %s, and room for %d", n, of, most)
		}
	}
}

func (c *crowded) put(kind string, i int) {
	c.Helper()
	for name, fields := range crowd[kind].rows(i) {
		foundRow{swss.ConfigDB, name, fields}.write(c.T, c.Sim)
	}
}

func (c *crowded) remove(kind string, i int) {
	c.Helper()
	keys := slices.Collect(maps.Keys(crowd[kind].rows(i)))
	devicetest.NoError(c.T, c.Redis.DB(swss.ConfigDB).Client().Del(c.Context(), keys...).Err())
}

// reported returns the reported status of all rows, without words that depend on the order of rejections.
func (c *crowded) reported() map[string]string {
	c.Helper()
	devicetest.RunUntilIdle(c.T, c.Sim)
	all := map[string]string{}
	for key, row := range everything(c.T, c.Redis) {
		for _, field := range []string{"status", "state", "op-status"} {
			if strings.HasPrefix(key, "STATE_DB ") && !strings.Contains(key, "TAMTAM_") && row[field] != "" {
				all[key] += field + "=" + row[field] + " "
			}
		}
	}
	return all
}

func (c *crowded) restarted() map[string]string {
	c.Helper()
	devicetest.NoError(c.T, c.RestartOrchagent(c.Context()))
	return c.reported()
}

// For each kind of object with too little capacity, objects in force stay, also over a restart. Waiting objects get
// freed capacity by name, regardless of how long they have waited.
func TestFreedRoomIsGivenByContent(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0xf011))
		a, b := newCrowded(t), newCrowded(t)
		other := []string{"route", "group"}[rnd.IntN(2)] // both need routes
		kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(crowd)), func(kind string) bool { return kind == other })
		first, late, gone := map[string][]int{}, map[string][]int{}, map[string]int{}
		for _, kind := range kinds {
			order := rnd.Perm(6)
			first[kind], late[kind], gone[kind] = order[:2], order[2:], order[rnd.IntN(2)]
			for _, c := range []*crowded{a, b} {
				c.limit(kind, 2)
				for _, i := range first[kind] {
					c.put(kind, i)
				}
			}
		}
		before := a.reported()
		if diff := cmp.Diff(before, b.reported()); diff != "" {
			t.Fatalf("two switches with the same rows:\n%s", diff)
		}
		for _, c := range []*crowded{a, b} {
			for n := range 4 { // in another random order on each switch
				for _, kind := range kinds {
					if n == 0 {
						rnd.Shuffle(4, func(i, j int) { late[kind][i], late[kind][j] = late[kind][j], late[kind][i] })
					}
					c.put(kind, late[kind][n])
				}
				if rnd.IntN(2) == 0 {
					devicetest.RunUntilIdle(t, c.Sim)
				}
			}
		}
		full := a.reported()
		a.wantFull()
		if diff := cmp.Diff(full, b.reported()); diff != "" {
			t.Errorf("with what waits (-a +b):\n%s", diff)
		}
		for key, was := range before {
			if full[key] != was && !strings.HasPrefix(was, "op-status") {
				t.Errorf("%s was %s, is %s with more that waits", key, was, full[key])
			}
		}
		if diff := cmp.Diff(full, a.restarted()); diff != "" {
			t.Errorf("a restart (-before +after):\n%s", diff)
		}
		for _, c := range []*crowded{a, b} {
			for _, kind := range kinds {
				c.remove(kind, gone[kind])
			}
		}
		freed := a.reported()
		a.wantFull()
		if diff := cmp.Diff(freed, b.reported()); diff != "" {
			t.Errorf("freed room (-a +b):\n%s", diff)
		}
		if diff := cmp.Diff(freed, b.restarted()); diff != "" {
			t.Errorf("a restart after it (-before +after):\n%s", diff)
		}
	})
}
