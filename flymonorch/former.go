package flymonorch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"tamtam/flymonorch/plan"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// Fields of a task's row in STATE_DB that stores its place, and the state of its count.
const (
	fieldPlace      = "place" // JSON of a plan.Place
	fieldChip       = "chip"
	fieldGeneration = "generation"
	fieldSteps      = "clock-steps"
	fieldEpoch      = "epoch"
	fieldBegan      = "began"
	fieldFlags      = "flags"
)

// maxPlace is the maximum size of a stored place in bytes. A place with all CMUs of a chip is smaller.
const maxPlace = 64 << 10

// A count identifies an uninterrupted count of a task on the chip. As long as the chip reports the same identity, the
// stored data about its begin remain valid, even for another process.
type count struct {
	chip       uint64 // start of the chip in ns since 1970
	generation uint64 // the chip's generation of the task
	steps      uint64 // number of times that the clock was set, as last observed
	// Number of the next epoch to read, and its flags, at the time of storing. Earlier epochs were read, or not
	// counted.
	epoch uint64
	began uint64
	flags flymon.Flags
}

// is reports whether the chip, whose task has status s at the time at, still has this count.
func (n *count) is(at clock, s *flymon.ChipStatus) bool {
	return n != nil && n.chip == at.started && n.generation == s.Generation && n.began <= at.now
}

// addTo writes a count into the row of its task.
func (n *count) addTo(row swss.FieldValues) {
	for field, v := range map[string]uint64{
		fieldChip: n.chip, fieldGeneration: n.generation, fieldSteps: n.steps, fieldEpoch: n.epoch, fieldBegan: n.began,
	} {
		row[field] = strconv.FormatUint(v, 10)
	}
	row[fieldFlags] = n.flags.String()
}

// parseCount returns the count of a row, or nil if it has none.
func parseCount(row swss.FieldValues) (*count, error) {
	if _, has := row[fieldChip]; !has {
		return nil, nil
	}
	n := &count{}
	for field, v := range map[string]*uint64{
		fieldChip: &n.chip, fieldGeneration: &n.generation, fieldSteps: &n.steps, fieldEpoch: &n.epoch, fieldBegan: &n.began,
	} {
		var err error
		if *v, err = strconv.ParseUint(row[field], 10, 64); err != nil {
			return nil, fmt.Errorf("%s %.40q, want a number", field, row[field])
		}
	}
	var err error
	n.flags, err = flymon.ParseFlags(row[fieldFlags])
	return n, err
}

func parsePlace(text string) (at plan.Place, err error) {
	if len(text) > maxPlace {
		return at, fmt.Errorf("%d bytes, want at most %d", len(text), maxPlace)
	}
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return at, fmt.Errorf("%.40q: %w", text, err)
	}
	return at, nil
}

// deployFormer deploys the tasks with a place of a previous run to that place, before other tasks can use it. Otherwise
// places would depend on the order of tasks, and a moved task would restart its count. Pinned tasks come first, because
// the changed filter of another task may overlap with theirs.
func (o *Orch) deployFormer(ctx context.Context, wanted []*task) {
	wanted = slices.Clone(wanted)
	slices.SortStableFunc(wanted, func(a, b *task) int {
		if a.Row.Pinned == b.Row.Pinned {
			return 0
		} else if a.Row.Pinned {
			return -1
		}
		return 1
	})
	for _, t := range wanted {
		row := o.counters.former.Former(t.Name)
		if row == nil || t.Row.Plan || t.InASIC != nil {
			continue
		}
		at, err := parsePlace(row[fieldPlace])
		var placed *plan.Placed
		if err == nil {
			placed, err = o.pool.TryAt(t.Name, t.Row, at)
		}
		if err != nil {
			o.Log.Warn("a task of FlyMon does not get the place that it had", "task", t.Name, "because", err)
			continue
		}
		n, err := parseCount(row)
		if err != nil {
			o.Log.Warn("what a task of FlyMon counted before is not known", "task", t.Name, "because", err)
		}
		t.Err = o.enter(ctx, t, placed, func() (*plan.Placed, error) { return o.pool.AddAt(t.Name, t.Row, at) })
		if o.changed = true; t.Err == nil {
			t.InASIC.former = n
			o.reader.remember(t)
		}
	}
}

// remember stores the place of a task and the state of its count, for a later process.
func (rd *reader) remember(t *task) {
	d := t.InASIC
	now := d.former
	if d.known {
		now = &count{d.at.started, d.generation, d.at.steps, d.next, d.began, d.flags}
		if was := d.noted; was != nil && now.flags|was.flags == 0 && now.began|was.began == 0 {
			now.epoch = was.epoch // an epoch without flags is not worth a write
		}
	}
	if d.place != "" && (now == d.noted || now != nil && d.noted != nil && *now == *d.noted) {
		return
	}
	if d.place == "" {
		text, err := json.Marshal(d.placed.Place())
		if err != nil {
			rd.log.Error("the place of a task of FlyMon is not remembered", "task", t.Name, "err", err)
			return
		}
		d.place = string(text)
	}
	row := swss.FieldValues{fieldPlace: d.place}
	if d.noted = now; now != nil {
		now.addTo(row)
	}
	rd.rows.former.Put(t.Name, row)
}
