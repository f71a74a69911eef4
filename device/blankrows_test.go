package device_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// A foundRow is a row that a daemon may find in a database, possibly blank, without fields or without a key.
type foundRow struct {
	db     swss.DBName
	name   string
	fields swss.FieldValues
}

func (r foundRow) String() string { return fmt.Sprintf("%s %q %q", r.db, r.name, r.fields) }

func (r foundRow) write(t *testing.T, s *device.Sim) {
	t.Helper()
	devicetest.NoError(t, s.Redis.DB(r.db).Client().HSet(t.Context(), r.name, r.fields).Err())
}

// hostedSim returns a switch with all daemons that read the databases, after they have done all their work.
func hostedSim(t *testing.T, config device.ConfigDB) *device.Sim {
	t.Helper()
	s := devicetest.NewSim(t, device.SimConfig{Config: config, Host: true,
		SFlow: func(netip.AddrPort, []byte) error { return nil }})
	devicetest.RunUntilIdle(t, s)
	return s
}

// ready reports whether all daemons become consistent within a number of seconds. The text names those that do not.
func ready(t *testing.T, s *device.Sim, within int) (bool, string) {
	t.Helper()
	var lacks []string
	for range within {
		states := compare(t, s, 1)
		for name, d := range s.HostDaemons() {
			devicetest.NoError(t, d.Compare(t.Context(), s.Now()))
			states[name] = d.Watch().State()
		}
		devicetest.RunUntilIdle(t, s)
		lacks = nil
		for _, name := range slices.Sorted(maps.Keys(states)) {
			if state := states[name]; state.Open > 0 || state.Word() != drift.Consistent {
				lacks = append(lacks, fmt.Sprintf("%s: %s (%d open)", name, state.Reason, state.Open))
			}
		}
		if lacks == nil {
			return true, ""
		}
	}
	return false, strings.Join(lacks, "\n")
}

// No content of a row prevents readiness. These rows once kept daemons from ever being ready.
func TestBlankRowsCostNoReadiness(t *testing.T) {
	s := hostedSim(t, devicetest.Merge(devicetest.TwoPorts(), device.ConfigDB{schema.CfgDSCPToTC: {"m": {"0": "1"}}}))
	for _, r := range []foundRow{
		{swss.ConfigDB, "PORT_QOS_MAP|Ethernet0", swss.FieldValues{"dscp_to_tc_map": " "}},
		{swss.ConfigDB, "PORT_QOS_MAP|Ethernet1", swss.FieldValues{"dscp_to_tc_map": ""}},
		{swss.ConfigDB, "QUEUE|Ethernet0|3", swss.FieldValues{"scheduler": ""}},
		{swss.ConfigDB, "TAM_FLOW_GROUP|FG1", swss.FieldValues{"NULL": "NULL"}},
		{swss.ApplDB, "INTF_TABLE:", swss.FieldValues{"a": "b"}},
		{swss.ApplDB, "ROUTE_TABLE:", swss.FieldValues{"NULL": "NULL"}},
		{swss.ApplDB, "PORT_TABLE:Ethernet9", swss.FieldValues{"NULL": "NULL"}},
		{swss.ConfigDB, "PORT|", swss.FieldValues{"mtu": "1500"}},
		{swss.ConfigDB, "PORTCHANNEL_MEMBER|", swss.FieldValues{"NULL": "NULL"}},
		{swss.ConfigDB, "FLEX_COUNTER_TABLE|PG_WATERMARK", swss.FieldValues{"FLEX_COUNTER_STATUS": "enable"}},
		{swss.ConfigDB, "FLEX_COUNTER_TABLE|", swss.FieldValues{"NULL": "NULL"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			r.write(t, s)
			devicetest.RunUntilIdle(t, s)
			if ok, why := ready(t, s, 10); !ok {
				t.Error(why)
			}
		})
	}
}

// A row that loses its last field stays: its consumer receives a row without fields.
func TestRowLosesItsLastField(t *testing.T) {
	s := hostedSim(t, devicetest.Merge(devicetest.TwoPorts(), device.ConfigDB{
		schema.CfgDSCPToTC: {"m": {"0": "1"}}, schema.CfgPortQoS: {"Ethernet0": {"dscp_to_tc_map": "m"}},
	}))
	foundRow{swss.ConfigDB, "PORT_QOS_MAP|Ethernet0", swss.FieldValues{"dscp_to_tc_map": ""}}.write(t, s)
	devicetest.RunUntilIdle(t, s)
	appl := swss.NewTable(s.Redis.DB(swss.ApplDB), "PORT_QOS_MAP_TABLE")
	if row, ok, err := appl.Get(t.Context(), "Ethernet0"); err != nil || !ok || len(row) > 0 {
		t.Errorf("%v, %v, %v; want a row without fields", row, ok, err)
	}
	devicetest.NoError(t, appl.Del(t.Context(), "Ethernet0"))
	if ok, why := ready(t, s, 10); !ok {
		t.Error(why)
	}
	if _, ok, err := appl.Get(t.Context(), "Ethernet0"); err != nil || !ok {
		t.Errorf("the row did not return: %v", err)
	}
}

// Rows are random: with a blank, empty, NULL or absent field, an empty key, or without fields, in any table. Every
// daemon becomes ready again, and nothing differs.
func TestRandomBlankRows(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0xb1a9c))
		s := hostedSim(t, blankRowsConfig())
		var rows []foundRow
		for range 12 {
			r := randomFoundRow(t.Context(), t, rnd, s)
			rows = append(rows, r)
			r.write(t, s)
			if rnd.IntN(2) == 0 {
				devicetest.RunUntilIdle(t, s)
			}
		}
		devicetest.RunUntilIdle(t, s)
		if ok, why := ready(t, s, 20); !ok {
			t.Errorf("%s\nafter %q", why, rows)
		}
	})
}

// blankRowsConfig returns a configuration with rows in many tables.
func blankRowsConfig() device.ConfigDB {
	return devicetest.Merge(devicetest.TwoPorts(), device.ConfigDB{
		schema.CfgDSCPToTC:      {"m": {"0": "1"}},
		schema.CfgPortQoS:       {"Ethernet0": {"dscp_to_tc_map": "m"}},
		schema.CfgScheduler:     {"s": {"type": "DWRR", "weight": "3"}},
		schema.CfgQueue:         {"Ethernet0|3": {"scheduler": "s"}},
		schema.CfgVLANInterface: {"Vlan10": {"NULL": "NULL"}, "Vlan10|10.0.0.1/24": {"NULL": "NULL"}},
		schema.CfgStaticRoute:   {"default|10.9.0.0/16": {"nexthop": "10.0.0.2"}},
	})
}

// randomFoundRow returns a change of an existing row, or a new row, in any table that is configured or that daemons
// read.
func randomFoundRow(ctx context.Context, t *testing.T, rnd *rand.Rand, s *device.Sim) foundRow {
	t.Helper()
	blanks := []string{"", " ", "\t", "NULL", "\n", "  ", "null", ",", "|", ":"}
	blank := func() string { return blanks[rnd.IntN(len(blanks))] }
	tables := schema.Tables()
	table := tables[rnd.IntN(len(tables))]
	r := foundRow{db: swss.ConfigDB}
	name := table.Config
	if name == "" || table.Appl != "" && rnd.IntN(3) == 0 {
		r.db, name = swss.ApplDB, table.Appl
	}
	if name == "" {
		return randomFoundRow(ctx, t, rnd, s)
	}
	db := s.Redis.DB(r.db)
	sep := db.Separator()
	keys := []string{
		"", " ", sep, "x", "x" + sep + "y", "Ethernet0", "Ethernet0" + sep + "3", "Ethernet0" + sep, "NULL", "Vlan10",
	}
	r.name = name + sep + keys[rnd.IntN(len(keys))]
	there, err := swss.NewTable(db, name).Keys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(there) > 0 && rnd.IntN(2) == 0 {
		r.name = name + sep + there[rnd.IntN(len(there))]
	}
	r.fields = swss.FieldValues{"NULL": "NULL"}
	if rnd.IntN(5) == 0 {
		return r
	}
	fields := append(table.FieldNames(), "", " ", "a", "NULL")
	for range 1 + rnd.IntN(3) {
		r.fields[fields[rnd.IntN(len(fields))]] = blank()
	}
	if rnd.IntN(2) == 0 {
		delete(r.fields, "NULL")
	}
	if len(r.fields) == 0 {
		r.fields["a"] = blank()
	}
	return r
}
