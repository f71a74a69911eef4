package recordorch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// recordBits is the size of a packet's record word, which the plans of a chip share.
const recordBits = 64

// A schemeKey contains the settings that are equal in sessions with a common plan.
type schemeKey struct{ phv, mode, algorithm, must, probabilities string }

func keyOf(s schema.RecordSettings) schemeKey {
	return schemeKey{s.PHV.String(), s.Mode, s.Algorithm, strings.Join(s.MustRecord, ","), s.Probabilities}
}

func (k schemeKey) compare(l schemeKey) int {
	return cmp.Or(cmp.Compare(k.phv, l.phv), cmp.Compare(k.mode, l.mode), cmp.Compare(k.algorithm, l.algorithm),
		cmp.Compare(k.must, l.must), cmp.Compare(k.probabilities, l.probabilities))
}

// A scheme is a plan with the sessions that share it. While there are such sessions, it also has an object in the chip.
type scheme struct {
	settings schema.RecordSettings

	// The plan for a version of the graph, or the reason why there is none.
	version uint64 // version of the graph for which the plan was made; 0 if not planned yet
	plan    *record.Plan
	err     error
	counted bool               // true if the plan was made from counted probabilities
	not     record.Classes     // classes that were excluded for the plan
	paths   []record.PathCount // counted paths from which the plan was made; nil for uniform probabilities

	object feature.Object
	offset int // first bit of the plan in the record word
	labels map[string]record.ChipSession
	planID uint32 // id of the plan that the chip has

	switchID uint32 // switch id in the records by that plan
}

// scheme returns the scheme for some settings, planned for the current graph.
func (o *Orch) scheme(ctx context.Context, s schema.RecordSettings) (*scheme, error) {
	k := keyOf(s)
	c := o.schemes[k]
	if c == nil {
		object := feature.Object{Name: record.ObjectPlan, Attr: record.AttrPlan}
		c = &scheme{settings: s, object: object, labels: map[string]record.ChipSession{}}
		o.schemes[k] = c
	}
	if !c.object.There() && c.not != o.notOfAny(k) {
		c.version = 0
	}
	if c.version != o.graph.Version {
		if was := o.former[k]; was.version == o.graph.Version && was.paths != nil {
			if o.replan(ctx, c, was.paths); c.err == nil {
				return c, nil
			}
			o.Log.Warn("the paths that were counted before make no plan", "because", c.err)
		}
		o.replan(ctx, c, nil)
	}
	return c, c.err
}

// replan makes the plan of a scheme for the current graph, from counted paths, or from uniform probabilities if paths
// is nil.
func (o *Orch) replan(ctx context.Context, c *scheme, paths []record.PathCount) {
	c.version, c.counted, c.paths, c.not = o.graph.Version, paths != nil, paths, o.notOfAny(keyOf(c.settings))
	var err error
	if c.plan, err = o.plan(ctx, o.graph, paths, c.not, c.settings); err != nil {
		c.plan, c.err = nil, fmt.Errorf("no plan: %w", err)
		return
	}
	c.err = nil
}

// current reports whether the chip records by the current plan.
func (c *scheme) current() bool { return c.plan != nil && c.planID == c.plan.ID }

// awaits reports whether the plan must still be made from counted probabilities.
func (c *scheme) awaits() bool {
	return c.settings.Probabilities == schema.ProbabilitiesCounted && c.current() && !c.counted
}

// write creates or sets the object of a scheme in the chip, with these sessions. If that fails, the object has not
// changed.
func (o *Orch) write(ctx context.Context, c *scheme, labels map[string]record.ChipSession) error {
	offset := c.offset
	if was, ok := o.former[keyOf(c.settings)]; !c.object.There() && ok {
		offset = was.offset
	} else if !c.object.There() {
		var err error
		if offset, err = o.room(c.settings.PHV.Bits()); err != nil {
			return err
		}
	}
	marks, err := c.plan.ChipMarks()
	if err != nil {
		return err
	}
	chip := record.ChipPlan{
		ID: c.plan.ID, Switch: o.identity.InUse().SwitchID, PHV: c.plan.PHV, Offset: offset, Graph: c.version, Marks: marks,
	}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		chip.Sessions = append(chip.Sessions, labels[label])
	}
	if err := c.object.Put(ctx, o.SAI, chip); err != nil {
		return err
	}
	c.offset, c.planID, c.switchID, c.labels = offset, c.plan.ID, chip.Switch, labels
	o.remember(c)
	return nil
}

// join adds a session to the plan, or changes its parameters there.
func (o *Orch) join(ctx context.Context, c *scheme, s record.ChipSession) error {
	labels := maps.Clone(c.labels)
	labels[s.Label] = s
	return o.write(ctx, c, labels)
}

// part removes a session from the plan: it undoes join. Together with the last session it removes the object from the
// chip.
func (o *Orch) part(ctx context.Context, c *scheme, label string) error {
	labels := maps.Clone(c.labels)
	delete(labels, label)
	if len(labels) > 0 && c.current() {
		return o.write(ctx, c, labels)
	}
	if len(labels) == 0 {
		if err := c.object.Remove(ctx, o.SAI); err != nil {
			return err
		}
		c.planID = 0
		o.places.Drop(strconv.Itoa(c.offset))
	}
	c.labels = labels // an outdated plan is not written again: all its sessions are being removed
	return nil
}

// room finds free space in the record word: bits that no plan uses, and that are not reserved for a plan of the
// previous run.
func (o *Orch) room(bits int) (offset int, err error) {
	used := [recordBits]bool{}
	left := recordBits
	occupy := func(offset, n int) {
		for i := range n {
			if !used[offset+i] {
				left--
			}
			used[offset+i] = true
		}
	}
	for _, c := range o.schemes {
		if c.object.There() {
			occupy(c.offset, c.settings.PHV.Bits())
		}
	}
	for _, f := range o.former {
		occupy(f.offset, f.bits)
	}
	for run, i := 0, 0; i < recordBits; i++ {
		if run++; used[i] {
			run = 0
		}
		if run == bits {
			return i + 1 - bits, nil
		}
	}
	if bits > recordBits {
		return 0, &schema.FieldError{
			Object: schema.CfgTAMTableRecord, Field: "phv", Value: fmt.Sprintf("%d bits", bits),
			Want: fmt.Sprintf("at most the %d bits that a packet has here", recordBits),
		}
	}
	apart := ""
	if left >= bits {
		apart = ", not next to each other"
	}
	return 0, fmt.Errorf("%d bits of record: of the %d that a packet has %d are free%s: %w",
		bits, recordBits, left, apart, sai.StatusInsufficientResources)
}

// dropSchemes deletes the schemes that no session needs.
func (o *Orch) dropSchemes() {
	wanted := map[schemeKey]bool{}
	for _, s := range o.Sessions {
		if s.Configured && s.ParseErr == nil {
			wanted[keyOf(s.Row.RecordSettings)] = true
		}
	}
	maps.DeleteFunc(o.schemes, func(k schemeKey, c *scheme) bool { return !c.object.There() && !wanted[k] })
}

// sortedSchemes returns the schemes in the chip, in an order that does not depend on history.
func (o *Orch) sortedSchemes() (list []*scheme) {
	for _, k := range slices.SortedFunc(maps.Keys(o.schemes), schemeKey.compare) {
		if c := o.schemes[k]; c.object.There() {
			list = append(list, c)
		}
	}
	return list
}
