package calibration

import (
	"bytes"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// If STATE_DB contains an impossible place, or one of another owner, the log reports that. The object is placed
// again, and everything works.
func TestForgedPlaces(t *testing.T) {
	racetest.Stepped(t)
	const task, plan = schema.StateTAMFlyMonPlace + "|t1", schema.StateTAMTableRecordPlace + "|0"
	other := func(s *sketched) swss.FieldValues { return s.row(swss.StateDB, schema.StateTAMFlyMonPlace, "t0") }
	for name, tt := range map[string]struct {
		key    string
		forged func(s *sketched, row swss.FieldValues) swss.FieldValues
		log    string
	}{
		"no JSON":      {task, with("place", "{"), `because="\"{\": unexpected end of JSON input"`},
		"too long":     {task, with("place", strings.Repeat(" ", 1<<20)), "1048576 bytes, want at most 65536"},
		"no units":     {task, with("place", "{}"), "0 units, want more"},
		"beyond":       {task, replaced(`"group":1`, `"group":99`), "group 99, want 0 to"},
		"another base": {task, replaced(`"base":128`, `"base":192`), "base is 192, want a multiple of 128"},
		"another key": {task, replaced("src-ip", "dst-ip"),
			"hash unit 0 makes the key src-ip for another task, want dst-ip"},
		"another's": {task, func(s *sketched, row swss.FieldValues) swss.FieldValues { return other(s) },
			"are another task's"},
		"garbage of a count": {task, with("generation", "x"), `what a task of FlyMon counted before is not known`},
		"plan beyond": {plan + "x", func(s *sketched, row swss.FieldValues) swss.FieldValues {
			return s.row(swss.StateDB, schema.StateTAMTableRecordPlace, "0")
		}, `offset \"0x\", want 0 to 32`},
		"plan twice": {schema.StateTAMTableRecordPlace + "|8", func(s *sketched, row swss.FieldValues) swss.FieldValues {
			return s.row(swss.StateDB, schema.StateTAMTableRecordPlace, "0")
		}, "the same plan is at 0"},
		"plan in another's bits": {schema.StateTAMTableRecordPlace + "|8",
			func(*sketched, swss.FieldValues) swss.FieldValues {
				return swss.FieldValues{"phv": "8", "graph": "1"}
			}, "8 bits meet those of the plan at 0"},
		"plan of no bits": {plan, with("phv", "7"), `containers \"7\", want`},
		"no paths":        {plan, with("paths", "[]"), "0 paths, want 1 to 1024"},
		"wrong paths": {plan, with("paths", `[{"path":[{"table":"nowhere"}],"packets":1}]`),
			"the paths that were counted before make no plan"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			config := devicetest.RecordedPorts()
			config[schema.CfgTAMFeature][schema.FeatureFlyMon] = swss.FieldValues{"status": "ACTIVE"}
			s := &sketched{T: t, Sim: devicetest.NewSim(t, device.SimConfig{
				Config: config, Start: sketchStart, Oracle: 1000, Profile: profile.Small(),
				Common: daemons.Common{Log: slog.New(slog.NewTextHandler(&log, nil))},
			})}
			devicetest.RunUntilIdle(t, s.Sim)
			s.task("t0", "filter", "dst-port=80-90")
			s.task("t1", "filter", "dst-port=91-99")
			before := s.row(swss.StateDB, strings.Split(tt.key, "|")[0], strings.Split(tt.key, "|")[1])
			row := tt.forged(s, maps.Clone(before))
			if maps.Equal(row, before) {
				t.Fatalf("nothing is forged: %v", row)
			}
			db := s.Redis.DB(swss.StateDB).Client()
			db.Del(t.Context(), tt.key)
			db.HSet(t.Context(), tt.key, row)
			log.Reset()
			devicetest.NoError(t, s.RestartOrchagent(t.Context()))
			devicetest.RunUntilIdle(t, s.Sim)
			if !strings.Contains(log.String(), tt.log) {
				t.Errorf("the log has no %q:\n%s", tt.log, log.String())
			}
			s.wantStatus(schema.StateTAMFlyMonTask, "t0", "active")
			s.wantStatus(schema.StateTAMFlyMonTask, "t1", "active")
			s.wantStatus(schema.StateTAMTableRecord, "s", "active")
			s.advance(1001, 0.3)
			devicetest.NoError(t, s.Chip.Receive(0, s.Chip.Now()+1, saisim.Frame{Data: sketchFrame(t, 1, 1000, 95)}))
			s.advance(1002, 0.3)
			for task, want := range map[string]float64{"t0": 0, "t1": 1} {
				if r := s.result(task); r.Epoch != 1001 || r.Metrics[flymon.MetricPackets].Value != want ||
					r.Flags&^flymon.FlagFirst != 0 {
					t.Errorf("%s: %+v", task, r)
				}
			}
			if n := len(db.Keys(t.Context(), "TAM_STATE_*_PLACE_TABLE|*").Val()); n != 3 {
				t.Errorf("%d places are remembered, want 3", n)
			}
		})
	}
}

func with(field, value string) func(*sketched, swss.FieldValues) swss.FieldValues {
	return func(_ *sketched, row swss.FieldValues) swss.FieldValues { row[field] = value; return row }
}

func replaced(was, is string) func(*sketched, swss.FieldValues) swss.FieldValues {
	return func(_ *sketched, row swss.FieldValues) swss.FieldValues {
		row["place"] = strings.ReplaceAll(row["place"], was, is)
		return row
	}
}

// A plan from counted probabilities stays the same over a restart, although the counts have changed.
func TestCountedPlanSurvivesARestart(t *testing.T) {
	racetest.Stepped(t)
	w := &twins{T: t, counts: map[string]int{}}
	s := &sketched{T: t, Sim: devicetest.NewSim(t, device.SimConfig{
		Config: devicetest.RecordedPorts("probabilities", "counted"), Start: sketchStart, Profile: profile.Small(),
		Common: devicetest.RecordTo(&w.inChip),
	})}
	w.both[1] = s
	devicetest.RunUntilIdle(t, s.Sim)
	plan := func() string {
		row := s.row(swss.CountersDB, schema.CountersRecordPlan, "s")
		return row["ID"] + " " + row["ALGORITHM"] + " " + row["ENTROPY"] + " " + row["PROBABILITIES"]
	}
	uniform := plan()
	for i := range 12_000 {
		if err := s.Chip.Receive(saisim.PortID(i%2), s.Chip.Now()+saisim.Cycle(2000*i)+1,
			saisim.Frame{Data: sketchFrame(t, i%7, 1000, 80)}); err != nil {
			t.Fatal(err)
		}
	}
	devicetest.NoError(t, s.Advance(t.Context(), s.Chip.CycleAt(s.Now().Add(3*time.Second).Sub(s.Chip.TrueTime(0)))))
	counted := plan()
	if counted == uniform {
		t.Fatalf("the plan was not made by what was counted: %s", counted)
	}
	for range 2 {
		w.restart()
		if got := plan(); got != counted {
			t.Errorf("after the restart the plan is %s, was %s", got, counted)
		}
	}
}
