package device_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/device/fault"
	"tamtam/internal/randtest"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// compare makes every daemon compare everything once in each of the next n seconds, and report. It returns the state of
// each daemon.
func compare(t *testing.T, s *device.Sim, n int) map[string]drift.State {
	t.Helper()
	report := func(name string, w *drift.Watch) {
		devicetest.NoError(t, swss.NewTable(s.Redis.DB(swss.StateDB), drift.Table).Set(t.Context(), name, w.State().Row()))
	}
	for range n {
		devicetest.NoError(t, s.Advance(t.Context(), s.Chip.CycleAt(s.Now().Add(time.Second).Sub(s.Chip.TrueTime(0)))))
		devicetest.NoError(t, s.Managers.Compare(t.Context(), s.Now()))
		report("tammgrd", s.Managers.Watch())
		devicetest.RunUntilIdle(t, s)
		devicetest.NoError(t, s.Orchagent.Daemon.Compare(t.Context(), s.Now()))
		report("orchagent", s.Orchagent.Daemon.Watch())
		devicetest.RunUntilIdle(t, s)
		devicetest.NoError(t, s.Syncd.Watch.Pass(t.Context(), s.Now()))
		devicetest.RunUntilIdle(t, s)
	}
	return map[string]drift.State{
		"tammgrd": s.Managers.Watch().State(), "orchagent": s.Orchagent.Daemon.Watch().State(),
		"syncd": s.Syncd.Watch.State(),
	}
}

// consistent checks that no daemon finds drift.
func consistent(t *testing.T, s *device.Sim) {
	t.Helper()
	for name, state := range compare(t, s, 2) {
		if state.Word() != drift.Consistent || state.Drift > 0 || state.Objects == 0 {
			t.Errorf("%s: %+v", name, state)
		}
	}
}

// A change that another client makes in the databases is reported, healed and counted. Afterwards the switch matches
// its configuration.
func TestDriftInDatabases(t *testing.T) {
	const appl, state = swss.ApplDB, swss.StateDB
	tests := []struct {
		name     string
		db       swss.DBName
		row      string
		set      swss.FieldValues // written into the row; nil means that the row is deleted
		by       string           // the daemon that reports the change
		reported string
		// healed is the daemon that heals the change; "" means that no daemon has to.
		healed string
	}{
		{"a rule is gone", appl, "ACL_RULE_TABLE:TAM:all", nil, "tammgrd", "APPL_DB ACL_RULE_TABLE:TAM:all is missing",
			"tammgrd"},
		{"a session is changed", appl, "TAM_TAILSTAMPING_TABLE:s", swss.FieldValues{"rule": "x"}, "tammgrd",
			"TAM_TAILSTAMPING_TABLE:s ", "tammgrd"},
		{"a port is changed", appl, "PORT_TABLE:Ethernet0", swss.FieldValues{"mtu": "9000"}, "tammgrd",
			"mtu is \"9000\", should be \"1500\"", "tammgrd"},
		{"a row is nobody's", appl, "VLAN_TABLE:Vlan99", swss.FieldValues{"vlanid": "99"}, "tammgrd", "has no owner",
			"tammgrd"},
		{"a route of another daemon", appl, "ROUTE_TABLE:10.7.0.0/16", swss.FieldValues{"blackhole": "true"}, "orchagent",
			"was never handed over", "orchagent"},
		{"a status is gone", state, "VLAN_TABLE|Vlan10", nil, "tammgrd", "is missing: the row's status is not reported",
			"tammgrd"},
		{"a status is of no row", state, "VLAN_TABLE|Vlan77", swss.FieldValues{"status": "active", "by": "tammgrd"},
			"tammgrd", "is a status of no row", "tammgrd"},
		{"a state is of no row", state, "PORT_TABLE|Ethernet99", swss.FieldValues{"oper_status": "down"}, "tammgrd",
			"is the state of no row", "tammgrd"},
	}
	config := devicetest.TwoPorts()
	s := devicetest.NewSim(t, device.SimConfig{Config: config})
	devicetest.RunUntilIdle(t, s)
	consistent(t, s)
	want := devicetest.View(t, s)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := compare(t, s, 1)
			client := s.Redis.DB(tt.db).Client()
			var err error
			if tt.set != nil {
				err = client.HSet(t.Context(), tt.row, tt.set).Err()
			} else {
				err = client.Del(t.Context(), tt.row).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			reported := false
			for range 5 {
				reported = strings.Contains(compare(t, s, 1)[tt.by].Reason, tt.reported) || reported
			}
			after := compare(t, s, 1)
			if !reported || after[tt.by].Drift == before[tt.by].Drift {
				t.Errorf("%s does not tell %q: %+v", tt.by, tt.reported, after[tt.by])
			}
			if after[tt.healed].Healed == before[tt.healed].Healed {
				t.Errorf("%s has not healed it: %+v", tt.healed, after[tt.healed])
			}
			for name, now := range after {
				if now.Word() != drift.Consistent {
					t.Errorf("%s: %+v", name, now)
				}
			}
			if row, _, _ := swss.NewTable(s.Redis.DB(state), schema.StateTAMTailStamp).Get(t.Context(),
				"s"); row["status"] != "active" {
				t.Errorf("the session: %v", row)
			}
		})
	}
	devicetest.NoError(t, s.Redis.DB(appl).Client().Del(t.Context(), "ROUTE_TABLE:10.7.0.0/16").Err())
	compare(t, s, 8)
	if got := devicetest.View(t, s); got != want {
		t.Errorf("the ASIC is not what it was:\n%s", got)
	}
}

// If a configured row cannot be in force, its status with a reason suffices. A row without a status, or without a
// reason, is drift.
func TestPendingRowsAreReported(t *testing.T) {
	config := devicetest.Merge(devicetest.TwoPorts(), device.ConfigDB{
		schema.CfgTAMTailStamp: {"lost": {"flowgroup": "nowhere"}},
		schema.CfgVLAN:         {"Vlan9": {"vlanid": "8"}},
		// Sessions of two types, each reported in its own table.
		schema.CfgTAMSession: {
			"drops": {"type": "drop-monitor", "collector": "nowhere"}, "hops": {"type": "ifa", "role": "transit"},
		},
	})
	s := devicetest.NewSim(t, device.SimConfig{Config: config})
	devicetest.RunUntilIdle(t, s)
	state := s.Redis.DB(swss.StateDB)
	for row, want := range map[[2]string]string{
		{schema.StateTAMTailStamp, "lost"}: schema.StatusPending, {schema.StateVLAN, "Vlan9"}: schema.StatusFailed,
		{schema.StateTAMDropMonitor, "drops"}: schema.StatusPending,
	} {
		is, _, err := swss.NewTable(state, row[0]).Get(t.Context(), row[1])
		if err != nil || is[schema.StatusField(row[0])] != want || is[schema.FieldReason] == "" {
			t.Errorf("%v: %v, %v; want %s and why", row, is, err, want)
		}
	}
	consistent(t, s)
	if err := s.Redis.DB(swss.ConfigDB).Client().HSet(t.Context(), "FLEX_COUNTER_TABLE|ACL",
		"FLEX_COUNTER_STATUS", "maybe").Err(); err != nil {
		t.Fatal(err)
	}
	devicetest.RunUntilIdle(t, s)
	devicetest.NoError(t, state.Client().Del(t.Context(), schema.StateFlexCounter+"|ACL").Err())
	if got := compare(t, s, 2)["tammgrd"]; !strings.Contains(got.Reason,
		"CONFIG_DB FLEX_COUNTER_TABLE|ACL has no status") || got.Drift > 0 {
		t.Errorf("%+v", got)
	}
	devicetest.NoError(t, state.Client().HSet(t.Context(), schema.StateFlexCounter+"|ACL", "status", "failed").Err())
	if got := compare(t, s, 1)["tammgrd"]; !strings.Contains(got.Reason, "is failed, and no reason is reported") {
		t.Errorf("%+v", got)
	}
	if got := compare(t, s, 5)["tammgrd"]; got.Word() != drift.Consistent {
		t.Errorf("its author does not report it again: %+v", got)
	}
}

// statusRows returns the status rows of STATE_DB, without their times, and their names.
func statusRows(t *testing.T, s *device.Sim) (names []string, rows map[string]string) {
	t.Helper()
	db := s.Redis.DB(swss.StateDB)
	all, err := db.AllKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	rows = map[string]string{}
	if err := db.ReadRows(t.Context(), all, func(i int, row swss.FieldValues, _ int64) {
		table, _, _ := db.Split(all[i])
		if table == schema.StateSwitchCap || table == schema.StateACLStageCap { // what the ASIC can do
			rows[all[i]] = fmt.Sprint(row)
		}
		if row[schema.FieldBy] == "" {
			return
		}
		names = append(names, all[i])
		rows[all[i]] = row[schema.StatusField(table)] + " by " + row[schema.FieldBy] + ": " + row[schema.FieldReason]
	}); err != nil {
		t.Fatal(err)
	}
	return names, rows
}

// A status row that is deleted or overwritten is written again by its author, whichever daemon that is.
func TestDeletedStatusReturns(t *testing.T) {
	s := hostedSim(t,
		devicetest.Merge(blankRowsConfig(), device.ConfigDB{schema.CfgFlexCounter: {"QUEUE": {"POLL_INTERVAL": "1000"}}}))
	client := s.Redis.DB(swss.StateDB).Client()
	if ok, why := ready(t, s, 5); !ok {
		t.Fatal(why)
	}
	names, want := statusRows(t, s)
	for _, row := range []string{"COPP_TABLE|host-error", "FLEX_COUNTER_TABLE|QUEUE"} {
		if !slices.Contains(names, row) {
			t.Errorf("there is no %s in %q", row, names)
		}
	}
	check := func(t *testing.T) {
		t.Helper()
		devicetest.RunUntilIdle(t, s)
		if ok, why := ready(t, s, 20); !ok {
			t.Error(why)
		}
		if _, got := statusRows(t, s); !maps.Equal(got, want) {
			t.Errorf("the status rows are\n%q\nwant\n%q", got, want)
		}
	}
	t.Run("all", func(t *testing.T) {
		devicetest.NoError(t, client.FlushDB(t.Context()).Err())
		check(t)
	})
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0x57a7e))
		for range 1 + rnd.IntN(5) {
			name := names[rnd.IntN(len(names))]
			table, _, _ := s.Redis.DB(swss.StateDB).Split(name)
			var err error
			switch rnd.IntN(3) {
			case 0:
				err = client.Del(t.Context(), name).Err()
			case 1:
				err = client.HDel(t.Context(), name, schema.StatusField(table), schema.FieldBy).Err()
			default:
				err = client.HSet(t.Context(), name, schema.StatusField(table), "nonsense").Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		check(t)
	})
}

// A row of ASIC_STATE that differs from orchagent's objects is reported, and ends orchagent's run. The next run makes
// the view again, and restores the ASIC.
func TestDriftInASICState(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts()})
	devicetest.RunUntilIdle(t, s)
	consistent(t, s)
	want := devicetest.View(t, s)
	asic := s.Redis.DB(swss.ASICDB).Client()
	row := func(t *testing.T, kind string) string {
		keys, err := asic.Keys(t.Context(), "ASIC_STATE:SAI_OBJECT_TYPE_"+kind+":*").Result()
		if err != nil || len(keys) == 0 {
			t.Fatal(kind, keys, err)
		}
		slices.Sort(keys)
		return keys[0]
	}
	for _, tt := range []struct {
		name, reported string
		do             func(t *testing.T) error
	}{
		{"a row is gone", "is gone", func(t *testing.T) error { return asic.Del(t.Context(), row(t, "ACL_ENTRY")).Err() }},
		{"an attribute is changed", "has another SAI_ACL_ENTRY_ATTR_PRIORITY than it was given: \"77\"",
			func(t *testing.T) error {
				return asic.HSet(t.Context(), row(t, "ACL_ENTRY"), "SAI_ACL_ENTRY_ATTR_PRIORITY", "77").Err()
			}},
		{"an attribute is gone", "has another SAI_ACL_ENTRY_ATTR_TABLE_ID than it was given: \"\"", func(t *testing.T) error {
			return asic.HDel(t.Context(), row(t, "ACL_ENTRY"), "SAI_ACL_ENTRY_ATTR_TABLE_ID").Err()
		}},
		{"an object is nobody's", "oid:0x9000000000fff has no owner", func(t *testing.T) error {
			return asic.HSet(t.Context(), "ASIC_STATE:SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x9000000000fff", "NULL", "NULL").Err()
		}},
		{"an entry is nobody's", "has no owner", func(t *testing.T) error {
			return asic.HSet(t.Context(),
				`ASIC_STATE:SAI_OBJECT_TYPE_ROUTE_ENTRY:{"dest":"10.0.0.0/8","switch_id":"oid:0x21000000000000",`+
					`"vr":"oid:0x3000000000002"}`,
				"SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION", "SAI_PACKET_ACTION_DROP").Err()
		}},
		{"a key is no object", "ASIC_STATE:nonsense has no owner", func(t *testing.T) error {
			return asic.HSet(t.Context(), "ASIC_STATE:nonsense", "a", "b").Err()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			devicetest.NoError(t, tt.do(t))
			compare(t, s, 1)
			err := s.Orchagent.Daemon.Compare(t.Context(), s.Now().Add(time.Second))
			state := s.Orchagent.Daemon.Watch().State()
			if !errors.Is(err, sairedis.ErrUnknown) || !strings.Contains(state.Reason, tt.reported) || state.Due != 1 {
				t.Errorf("%v, told: %+v", err, state)
			}
			devicetest.NoError(t, s.RestartOrchagent(t.Context()))
			devicetest.RunUntilIdle(t, s)
			consistent(t, s)
			if got := devicetest.View(t, s); got != want {
				t.Errorf("the ASIC is not what it was:\n%s", got)
			}
		})
	}
}

// A change in the chip that syncd did not make is reported, and healed from the rows of ASIC_STATE.
func TestDriftInChip(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts()})
	devicetest.RunUntilIdle(t, s)
	consistent(t, s)
	want := devicetest.View(t, s)
	asic := s.Redis.DB(swss.ASICDB).Client()
	// object finds the nth object of a type: its row, and its key in the chip.
	object := func(t *testing.T, kind sai.ObjectType, nth int) (row string, real sai.Key) {
		rows, err := asic.Keys(t.Context(), "ASIC_STATE:"+kind.String()+":*").Result()
		if err != nil || len(rows) <= nth {
			t.Fatal(kind, rows, err)
		}
		slices.Sort(rows)
		rid, err := asic.HGet(t.Context(), protocol.KeyVIDToRID, strings.TrimPrefix(rows[nth],
			"ASIC_STATE:"+kind.String()+":")).Result()
		if err != nil {
			t.Fatal(err)
		}
		oid, err := sai.ParseOID(rid)
		if err != nil {
			t.Fatal(err)
		}
		return rows[nth], sai.Obj(kind, oid)
	}
	for _, tt := range []struct {
		name, reported string
		do             func(t *testing.T) error
	}{
		{"an attribute is changed", "has another SAI_ACL_ENTRY_ATTR_PRIORITY in the ASIC: \"77\"", func(t *testing.T) error {
			_, entry := object(t, sai.ObjectTypeACLEntry, 0)
			return s.Chip.Set(t.Context(), entry, sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(77)})
		}},
		{"a rule is removed", "is not in the ASIC", func(t *testing.T) error {
			_, entry := object(t, sai.ObjectTypeACLEntry, 0)
			return s.Chip.Remove(t.Context(), entry)
		}},
		{"a member of a VLAN is removed", "is not in the ASIC", func(t *testing.T) error {
			_, member := object(t, sai.ObjectTypeVLANMember, 1)
			return s.Chip.Remove(t.Context(), member)
		}},
		{"a port is down", "has another SAI_PORT_ATTR_ADMIN_STATE in the ASIC: \"false\"", func(t *testing.T) error {
			_, port := object(t, sai.ObjectTypePort, 1)
			return s.Chip.Set(t.Context(), port, sai.Attr{ID: sai.PortAttrAdminState, Value: sai.Bool(false)})
		}},
		{"the row of an object that came with the chip is gone", "has no row", func(t *testing.T) error {
			row, _ := object(t, sai.ObjectTypeQueue, 0)
			return asic.Del(t.Context(), row).Err()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := s.Syncd.Watch.State()
			devicetest.NoError(t, tt.do(t))
			reported := ""
			for range 3 {
				if reason := compare(t, s, 1)["syncd"].Reason; reason != "" {
					reported = reason
				}
			}
			for name, now := range compare(t, s, 1) {
				if now.Word() != drift.Consistent {
					t.Errorf("%s: %+v", name, now)
				}
			}
			now := s.Syncd.Watch.State()
			if !strings.Contains(reported, tt.reported) || now.Drift != before.Drift+1 || now.Healed != before.Healed+1 {
				t.Errorf("told %q, want %q; %+v", reported, tt.reported, now)
			}
			if got := devicetest.View(t, s); got != want {
				t.Errorf("the rows are not what they were:\n%s", got)
			}
		})
	}
	if err := s.RestartOrchagent(t.Context()); err != nil {
		t.Error("a view on what was made anew:", err)
	}
	devicetest.RunUntilIdle(t, s)
	for name, now := range compare(t, s, 2) {
		if now.Word() != drift.Consistent {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

// everPassing returns an author that completes a comparison between any two calls.
func everPassing() func(context.Context, string) (int, bool) {
	passes := 1000
	return func(context.Context, string) (int, bool) {
		passes += 2
		return passes, true
	}
}

// syncd cannot recreate objects that its chip had from the start. If one is lost, the chip must be replaced.
func TestDriftThatNeedsFreshChip(t *testing.T) {
	faults := fault.NewRules(time.Now)
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts(), Common: daemons.Common{Backend: faults.SAI}})
	devicetest.RunUntilIdle(t, s)
	consistent(t, s)
	addFault(t, faults, withoutQueues)
	compare(t, s, 1)
	s.Syncd.Watch.Author = everPassing()
	if err := s.Syncd.Watch.Pass(t.Context(), s.Now().Add(time.Second)); !errors.Is(err, swss.ErrReset) ||
		!strings.Contains(err.Error(), "it came with the chip") {
		t.Errorf("%v, want an error that says that a fresh chip is needed", err)
	}
}

// If a new chip does not help, the drift stays, and is reported.
func TestDriftThatStays(t *testing.T) {
	faults := fault.NewRules(time.Now)
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts(), Common: daemons.Common{Backend: faults.SAI,
		Renew: func() bool { return false }}})
	devicetest.RunUntilIdle(t, s)
	consistent(t, s)
	addFault(t, faults, withoutQueues)
	s.Syncd.Watch.Author = everPassing()
	for range 5 {
		compare(t, s, 1)
	}
	if state := compare(t, s, 1)["syncd"]; !strings.Contains(state.Reason, "is not in the ASIC") || state.Healed > 0 {
		t.Errorf("%+v", state)
	}
}

// withoutQueues makes the chip report that it has no queues.
var withoutQueues = fault.Fault{
	Kind: fault.SAIFail, Op: sai.OpGet, Type: sai.ObjectTypeQueue, Status: sai.StatusItemNotFound, For: fault.MostFor,
}

func addFault(t *testing.T, rules *fault.Rules, f fault.Fault) {
	t.Helper()
	if _, err := rules.Add(f); err != nil {
		t.Fatal(err)
	}
}
