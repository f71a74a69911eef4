package calibration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai/saitest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// twins are two switches with the same events, but the second one's orchagent is restarted repeatedly.
type twins struct {
	*testing.T
	*rand.Rand
	both   [2]*sketched
	inChip *saitest.Recorder // records calls to the chip of the second switch
	epoch  int
	live   map[string]bool // tasks that are read while they count
	rows   map[string]map[string]bool
	counts map[string]int
}

func newTwins(t *testing.T, seed uint64) *twins {
	w := &twins{T: t, Rand: rand.New(rand.NewPCG(seed, 16)), epoch: 1000, live: map[string]bool{},
		counts: map[string]int{},
		rows:   map[string]map[string]bool{schema.CfgTAMFlyMonTask: {}, schema.CfgTAMTableRecord: {}}}
	config := devicetest.RecordedPorts()
	delete(config, schema.CfgTAMTableRecord)
	config[schema.CfgTAMFeature][schema.FeatureFlyMon] = swss.FieldValues{"status": "ACTIVE"}
	for n := range 4 {
		name := fmt.Sprint("F", n)
		config[schema.CfgTAMFlowGroup][name] = swss.FieldValues{"id": fmt.Sprint(n + 2)}
		config[schema.CfgACLRule]["TAM|"+name] = swss.FieldValues{"SRC_IP": fmt.Sprintf("10.0.0.%d/32", n), "PRIORITY": "200"}
	}
	for i := range w.both {
		cfg := device.SimConfig{Config: config, Start: sketchStart, Oracle: 1000, Profile: profile.Small()}
		if i == 1 {
			cfg.Common = devicetest.RecordTo(&w.inChip)
		}
		w.both[i] = &sketched{T: t, Sim: devicetest.NewSim(t, cfg)}
		devicetest.RunUntilIdle(t, w.both[i].Sim)
	}
	return w
}

func (w *twins) pick(of ...string) string { return of[w.IntN(len(of))] }

// write writes or deletes a row on both switches. It deletes a rejected row again, since a restart would remove its
// parts in force.
func (w *twins) write(table, key string, row swss.FieldValues) {
	w.Helper()
	for _, s := range w.both {
		s.config(table, key, row)
	}
	states := map[string]string{schema.CfgTAMFlyMonTask: schema.StateTAMFlyMonTask,
		schema.CfgTAMTableRecord: schema.StateTAMTableRecord}
	if row != nil && states[table] != "" && w.both[0].row(swss.StateDB, states[table],
		key)["status"] != schema.StatusActive {
		w.counts["refused"]++
		w.write(table, key, nil)
		return
	}
	if w.rows[table] != nil {
		w.counts["written"]++
		w.rows[table][key] = row != nil
	}
}

// change deploys, resizes or removes a random object.
func (w *twins) change() {
	w.Helper()
	table, key := schema.CfgTAMFlyMonTask, fmt.Sprint("T", w.IntN(9))
	if w.IntN(4) == 0 {
		table, key = schema.CfgTAMTableRecord, fmt.Sprint("R", w.IntN(4))
	}
	switch {
	case w.rows[table][key] && w.IntN(3) == 0:
		w.write(table, key, nil)
	case table == schema.CfgTAMTableRecord:
		w.write(table, key, swss.FieldValues{
			"flowgroup": "F" + key[1:], "collector": "c", "phv": w.pick("8", "16", "8+8", "32"),
			"mode":          w.pick("exec", "exec+hit"),
			"encapsulation": w.pick("udp", "erspan"),
		})
	default:
		row := swss.FieldValues{
			"key": w.pick("src-ip", "dst-ip", "ip-pair", "src-ip,dst-port"),
			"attribute": w.pick("frequency", "frequency", "frequency(bytes)", "max(size)", "distinct(dst-port)",
				"max(interval)"),
			"memory": w.pick("96", "192", "384", "768"), "epoch": w.pick("100", "100", "200", "0"),
			"threshold": w.pick("0", "20"),
			"filter":    w.pick("any", "dst-port=80-90", "src-ip=10.0.0.0/30", "protocol=17"),
		}
		if w.IntN(5) == 0 && row["epoch"] != "0" {
			row["readout"] = "live"
		}
		w.live[key] = row["readout"] == "live"
		w.write(table, key, row)
		w.write(schema.CfgTAMFlyMonQuery, "Q"+key, swss.FieldValues{"task": key, "flow": "10.0.0.1"})
	}
}

// pass sends frames into both switches for a while, and calls happens in between.
func (w *twins) pass(happens func()) {
	w.Helper()
	n, part := 20+w.IntN(40), 0.2+0.6*w.Float64()
	hosts := make([]int, n)
	for i := range hosts {
		hosts[i] = w.IntN(12)
	}
	for _, s := range w.both {
		for i, host := range hosts {
			at := max(s.at(w.epoch, (float64(i)+0.5)/float64(n)), s.Chip.Now()+1)
			devicetest.NoError(w.T, s.Chip.Receive(0, at, saisim.Frame{Data: sketchFrame(w.T, host, 1000, 78+uint16(i%5))}))
		}
		s.advance(w.epoch, part)
	}
	happens()
	w.epoch++
	for _, s := range w.both {
		s.advance(w.epoch, 0.11)
	}
}

// restart restarts the second orchagent, which must not make a call that changes the ASIC.
func (w *twins) restart() {
	w.Helper()
	w.inChip.Reset()
	devicetest.NoError(w.T, w.both[1].RestartOrchagent(w.Context()))
	devicetest.RunUntilIdle(w.T, w.both[1].Sim)
	if calls := devicetest.Changes(w.inChip.Lines()); len(calls) > 0 {
		w.Fatalf("in epoch %d the restart changes the ASIC:\n%s", w.epoch, strings.Join(calls[:min(len(calls), 40)], "\n"))
	}
	w.counts["restarts"]++
}

// answers returns the rows of measurements.
func (w *twins) answers(s *sketched) map[string]map[string]string {
	w.Helper()
	devicetest.NoError(w.T, s.Poll(w.Context()))
	all := map[string]map[string]string{}
	db := s.Redis.DB(swss.CountersDB).Client()
	for _, key := range db.Keys(w.Context(), "TAM_*").Val() {
		table, name, _ := strings.Cut(key, ":")
		measured := slices.Contains([]string{schema.CountersFlyMonResult, schema.CountersFlyMonFlows,
			schema.CountersFlyMonAnswer}, table)
		if measured && w.live[strings.TrimPrefix(name, "Q")] {
			continue // the first epoch is flagged: it is unknown which of its registers were read
		}
		row := db.HGetAll(w.Context(), key).Val()
		if table == schema.CountersRecordPlan {
			maps.DeleteFunc(row, func(_, value string) bool { return strings.Contains(value, `"seconds"`) })
		}
		all[key] = row
	}
	return all
}

// wantSame checks that both switches have the same answers, and the same state in their chips.
func (w *twins) wantSame() {
	w.Helper()
	want := w.answers(w.both[0])
	if diff := cmp.Diff(want, w.answers(w.both[1])); diff != "" {
		w.Fatalf("in epoch %d the answers of the switch whose orchagent was restarted differ (-never, +restarted):\n%s",
			w.epoch, diff)
	}
	for key := range want {
		if strings.HasPrefix(key, schema.CountersFlyMonResult) {
			w.counts["answers"]++
		}
	}
	if a, b := w.both[0].Chip.Tables(), w.both[1].Chip.Tables(); !cmp.Equal(asJSON(w.T, a.Sketches),
		asJSON(w.T, b.Sketches)) {
		w.Fatalf("in epoch %d the tasks of the chips differ: %s", w.epoch,
			cmp.Diff(asJSON(w.T, a.Sketches), asJSON(w.T, b.Sketches)))
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Tasks of FlyMon and plans of table recording are created, resized, displaced and removed in any order. A restart of
// orchagent, at any time of an epoch, makes no call that changes the ASIC. All answers are those of a switch without
// restarts, including the start times of counters.
func TestPlacesSurviveRestarts(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	counts := map[string]int{}
	fixed := randtest.Cases{Seed: 1, Count: 1}
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		w := newTwins(t, seed)
		for range 30 {
			w.pass(func() {
				if w.IntN(3) > 0 {
					w.change()
				}
				if w.IntN(3) == 0 {
					w.restart()
				}
				if w.IntN(6) == 0 {
					w.change()
				}
			})
			if w.IntN(4) == 0 {
				w.restart()
			}
			w.wantSame()
		}
		for what, n := range w.counts {
			counts[what] += n
		}
	})
	t.Logf("%v", counts)
	if c.Whole(fixed) && (counts["restarts"] < 10*c.Count || counts["written"] < 10*c.Count ||
		counts["answers"] < 50*c.Count) {
		t.Errorf("%v: the test shows little", counts)
	}
}
