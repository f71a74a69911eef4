package device_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/sai"
	sairedis "tamtam/sai/redis"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// full is an ASIC without further capacity. For each type, the capacity is the number of objects that existed when it
// was filled. While it is stubborn, it rejects changes of the priorities of ACL entries.
type full struct {
	sai.API
	live     map[string]sai.ObjectType
	room     map[sai.ObjectType]int // capacity by type; no entry means no limit
	stubborn bool
	removed  int // number of removed objects of limited types
}

// limited lists the types whose tables can be full.
var limited = []sai.ObjectType{
	sai.ObjectTypeACLEntry, sai.ObjectTypeACLCounter, sai.ObjectTypeMirrorSession, sai.ObjectTypeNextHop,
	sai.ObjectTypePolicer, sai.ObjectTypeScheduler, sai.ObjectTypeQoSMap, sai.ObjectTypeWRED, sai.ObjectTypeLAG,
}

// filled returns a full ASIC, and the configuration of a switch with it.
func filled(cfg device.SimConfig) (*full, device.SimConfig) {
	chip := &full{live: map[string]sai.ObjectType{}}
	cfg.Backend = func(c sai.API) sai.API { chip.API = c; return chip }
	return chip, cfg
}

// fill removes all free capacity.
func (f *full) fill() {
	f.room = map[sai.ObjectType]int{}
	for _, t := range limited {
		f.room[t] = 0
	}
	for _, t := range f.live {
		if _, ok := f.room[t]; ok {
			f.room[t]++
		}
	}
}

func (f *full) count(t sai.ObjectType) (n int) {
	for _, x := range f.live {
		if x == t {
			n++
		}
	}
	return n
}

func (f *full) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if err := f.lacks(t); err != nil {
		return 0, err
	}
	oid, err := f.API.Create(ctx, t, attrs)
	if err == nil {
		f.live[oid.String()] = t
	}
	return oid, err
}

func (f *full) lacks(t sai.ObjectType) error {
	if most, ok := f.room[t]; ok && f.count(t) >= most {
		return &sai.CallError{Op: "create", Type: t, Status: sai.StatusTableFull}
	}
	return nil
}

func (f *full) CreateEntry(ctx context.Context, e sai.Entry, attrs []sai.Attr) error {
	if err := f.lacks(e.EntryType()); err != nil {
		return err
	}
	err := f.API.CreateEntry(ctx, e, attrs)
	if err == nil {
		f.live[name(sai.EntryKey(e))] = e.EntryType()
	}
	return err
}

func (f *full) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = f.CreateEntry(ctx, e, attrs[i])
	}
	return errs
}

// name returns the key of an object in the map live.
func name(k sai.Key) string {
	if k.Entry != nil {
		return sai.FormatKey(k)
	}
	return k.OID.String()
}

func (f *full) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	oids, errs := make([]sai.OID, len(objs)), make([]error, len(objs))
	for i, attrs := range objs {
		oids[i], errs[i] = f.Create(ctx, t, attrs)
	}
	return oids, errs
}

func (f *full) Remove(ctx context.Context, k sai.Key) error {
	err := f.API.Remove(ctx, k)
	if err == nil {
		delete(f.live, name(k))
		if slices.Contains(limited, k.Type) {
			f.removed++
		}
	}
	return err
}

func (f *full) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = f.Remove(ctx, k)
	}
	return errs
}

func (f *full) Set(ctx context.Context, k sai.Key, a sai.Attr) error {
	if f.stubborn && a.ID == sai.ACLEntryAttrPriority {
		return &sai.CallError{Op: "set", Type: k.Type, Status: sai.StatusFailure}
	}
	return f.API.Set(ctx, k, a)
}

// If an ASIC rejects a change of an object in force, the adoption of all other objects fails too. This happens in each
// run, although nothing else changes. After two failed runs syncd compares. Once the ASIC accepts the change, it
// reaches its target state.
func TestAdoptionIsNotTriedForEver(t *testing.T) {
	var log strings.Builder
	chip, cfg := filled(device.SimConfig{Config: devicetest.AllFeatures()})
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := devicetest.NewSim(t, cfg)
	devicetest.RunUntilIdle(t, s)
	asic := devicetest.View(t, s)
	appl := swss.NewTable(s.Redis.DB(swss.ApplDB), schema.AppACLRule)
	devicetest.NoError(t, appl.Set(t.Context(), "T1:R1", swss.FieldValues{"PRIORITY": "77"}))
	chip.stubborn = true
	for run, words := range []string{
		"the ASIC could not be brought to what is configured", "the ASIC could not be brought to what is configured",
		"APPLY_VIEW: SAI_STATUS_FAILURE", "APPLY_VIEW: SAI_STATUS_FAILURE",
	} {
		err := s.RestartOrchagent(t.Context())
		if !errors.Is(err, sairedis.ErrNotApplied) || !strings.Contains(err.Error(), words) {
			t.Fatalf("life %d: %v, want %s", run+1, err, words)
		}
		if run < 2 {
			if diff := cmp.Diff(asic, devicetest.View(t, s)); diff != "" {
				t.Errorf("life %d: another ASIC:\n%s", run+1, diff)
			}
		}
	}
	if !strings.Contains(log.String(), "adoption has failed 2 times") {
		t.Errorf("the log does not say why syncd compares:\n%s", log.String())
	}
	chip.stubborn = false
	devicetest.NoError(t, s.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, s)
	row, _, _ := swss.NewTable(s.Redis.DB(swss.StateDB), "TAMTAM_VIEW").Get(t.Context(), "asic")
	if row["state"] != "applied" || row["failed"] != "" {
		t.Errorf("TAMTAM_VIEW %v", row)
	}
	if got := devicetest.View(t, s); !strings.Contains(got, "PRIORITY=77\n") {
		t.Errorf("the change is not in force:\n%s", got)
	}
	if err := s.RestartManagers(t.Context()); err != nil { // the managers write the row again
		t.Fatal(err)
	}
	devicetest.RunUntilIdle(t, s)
	if diff := cmp.Diff(asic, devicetest.View(t, s)); diff != "" {
		t.Errorf("another ASIC:\n%s", diff)
	}
}

// If the chip lacked an object of ASIC_STATE, every view would fail. syncd heals the chip without a comparison by
// orchagent, which cannot make one.
func TestRefusedViewOfDriftedChip(t *testing.T) {
	chip, cfg := filled(device.SimConfig{Config: devicetest.AllFeatures()})
	s := devicetest.NewSim(t, cfg)
	devicetest.RunUntilIdle(t, s)
	for id, kind := range chip.live {
		if oid, err := sai.ParseOID(id); err == nil && kind == sai.ObjectTypeACLEntry {
			devicetest.NoError(t, s.Chip.Remove(t.Context(), sai.Obj(kind, oid)))
		}
	}
	state := s.Redis.DB(swss.StateDB).Client()
	state.Del(t.Context(), "TAMTAM_VIEW|asic")
	appl := swss.NewTable(s.Redis.DB(swss.ApplDB), schema.AppACLRule)
	devicetest.NoError(t, appl.Set(t.Context(), "T1:R1", swss.FieldValues{"PRIORITY": "77"}))
	if err := s.RestartOrchagent(t.Context()); !errors.Is(err, sairedis.ErrNotApplied) {
		t.Fatalf("%v, want a view that is refused", err)
	}
	for i := range 5 {
		devicetest.NoError(t, s.Syncd.Watch.Pass(t.Context(), s.Now().Add(time.Duration(i)*time.Second)))
	}
	if now := s.Syncd.Watch.State(); now.Healed == 0 {
		t.Errorf("syncd has healed nothing: %+v", now)
	}
	devicetest.NoError(t, s.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, s)
}

// tooMuch returns rows of many types, for which there is no capacity.
func tooMuch() device.ConfigDB {
	c := device.ConfigDB{
		schema.CfgTAMFlowGroup: {}, schema.CfgACLRule: {}, schema.CfgTAMTailStamp: {},
		"MIRROR_SESSION": {"more": {"type": "SPAN", "dst_port": "Ethernet2", "src_port": "Ethernet0", "direction": "RX"}},
		"DSCP_TO_TC_MAP": {"more": {"8": "1"}}, "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "more"}},
		"SCHEDULER": {"more": {"type": "DWRR", "weight": "5"}}, "QUEUE": {"Ethernet0|1": {"scheduler": "more"}},
		"PORTCHANNEL": {"PortChannel7": {"admin_status": "up"}},
	}
	for i := range 5 {
		name := fmt.Sprint("more", i)
		c[schema.CfgTAMFlowGroup][name] = swss.FieldValues{"id": fmt.Sprint(20 + i)}
		c[schema.CfgACLRule]["TAM|"+name] = swss.FieldValues{"PRIORITY": "50", "SRC_IP": fmt.Sprintf("10.77.%d.0/24", i)}
		c[schema.CfgACLRule]["T1|"+name] = swss.FieldValues{ // behind the existing rule
			"PRIORITY": "5", "SRC_IP": fmt.Sprintf("10.78.%d.0/24", i), "PACKET_ACTION": "DROP"}
		c[schema.CfgTAMTailStamp][name] = swss.FieldValues{"flowgroup": name}
	}
	return c
}

// Rows may not fit because they did not fit before, or because they were added while orchagent was down. In both cases
// all rows that were in force are in force when orchagent works again. This also holds if syncd compares because the
// mark of the last view is lost. Rows that do not fit report that. Without syncd's comparison, all stays in force all
// the time.
func TestMoreThanFitsLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	found := func(t *testing.T, s *device.Sim) {
		devicetest.NoError(t, tooMuch().Load(t.Context(), s.Redis))
		devicetest.RunUntilIdle(t, s)
	}
	came := func(t *testing.T, s *device.Sim) {
		devicetest.NoError(t, tooMuch().Load(t.Context(), s.Redis))
		for worked := true; worked; {
			var err error
			if worked, err = s.Managers.Step(t.Context(), s.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		while func(t *testing.T, s *device.Sim)
		lost  bool // whether the mark of the view is lost
	}{
		"found before": {found, false}, "found before, mark lost": {found, true},
		"came meanwhile": {came, false}, "came meanwhile, mark lost": {came, true},
	} {
		t.Run(name, func(t *testing.T) {
			config := devicetest.AllFeatures()
			config["MIRROR_SESSION"] = map[string]swss.FieldValues{
				"m": {"type": "SPAN", "dst_port": "Ethernet2", "src_port": "Ethernet1", "direction": "RX"}}
			config["DSCP_TO_TC_MAP"] = map[string]swss.FieldValues{"d": {"8": "2"}}
			config["PORT_QOS_MAP"] = map[string]swss.FieldValues{"Ethernet1": {"dscp_to_tc_map": "d"}}
			chip, cfg := filled(device.SimConfig{Config: config})
			s := devicetest.NewSim(t, cfg)
			devicetest.RunUntilIdle(t, s)
			asic, rows := devicetest.View(t, s), everything(t, s.Redis)
			chip.fill()
			tt.while(t, s)
			if tt.lost {
				s.Redis.DB(swss.StateDB).Client().Del(t.Context(), "TAMTAM_VIEW|asic")
			}
			chip.removed = 0
			runs := 1
			err := s.RestartOrchagent(t.Context())
			for ; errors.Is(err, sairedis.ErrNotApplied) && runs < 3; runs++ {
				err = s.RestartOrchagent(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			devicetest.RunUntilIdle(t, s)
			if !tt.lost && (runs > 1 || chip.removed > 0) {
				t.Errorf("%d lives of orchagent, %d objects removed", runs, chip.removed)
			}
			if diff := cmp.Diff(asic, devicetest.View(t, s)); diff != "" {
				t.Errorf("the ASIC (-before +after):\n%s", diff)
			}
			now, failed := everything(t, s.Redis), 0
			for key, row := range now {
				if was := rows[key]; was != nil && was["status"] != row["status"] {
					t.Errorf("%s: %v, was %v", key, row, was)
				}
				if strings.Contains(row["reason"], "SAI_STATUS_TABLE_FULL") {
					failed++
				}
			}
			if failed < 10 {
				t.Errorf("%d rows say that there is no room", failed)
			}
		})
	}
}
