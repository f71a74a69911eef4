package chipload

import (
	"encoding/json"
	"fmt"

	"tamtam/flymonorch/plan"
	"tamtam/sai"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// CountMin returns a task for packets of a filter, which must be valid.
func CountMin(filter string) flymon.Task {
	f, err := flymon.ParseFilter(filter)
	k, err2 := flymon.ParseKey("5-tuple")
	if err != nil || err2 != nil {
		return flymon.Task{} // the chip refuses an empty task
	}
	return flymon.Task{
		Filter: f, Key: k, Attribute: flymon.Attribute{Kind: flymon.Packets},
		Algorithm: flymon.CMS, Memory: 3 * 16384, Accurate: true,
	}
}

// addTasks adds tasks to groups. Each group gets a task of three rows that counts all packets, or group 0 gets tasks of
// one row, three for each of 32 hosts.
func (s *calls) addTasks(l Load) {
	p := profile.Default()
	geo := p.FlyMon.Geometry()
	pool := plan.New(geo)
	add := func(name string, t flymon.Task) {
		if s.err != nil {
			return
		}
		placed, err := pool.Add(name, t)
		if s.err = err; err == nil {
			s.applyTask(placed.Layout)
		}
	}
	for i := range l.Groups {
		t := CountMin("any")
		if l.Coupons {
			t.Key, t.Attribute = keyOf("dst-ip"), flymon.Attribute{Kind: flymon.Distinct, Of: keyOf("src-ip")}
			t.Algorithm, t.Threshold = flymon.BeauCoup, 512
		}
		add(fmt.Sprintf("all%d", i), t)
	}
	for i := range l.Tasks {
		t := CountMin(fmt.Sprintf("src-ip=10.0.0.%d", i%32))
		t.Rows, t.Memory = 1, uint32(geo.MinSize())
		add(fmt.Sprintf("host%d", i), t)
	}
}

func keyOf(s string) flymon.Key {
	k, _ := flymon.ParseKey(s) // if the words are wrong, an empty key, which a task refuses
	return k
}

func (s *calls) applyTask(l flymon.Layout) {
	text, err := json.Marshal(map[string]any{"attributes": []any{map[string]any{"task": map[string]any{"value": l}}}})
	if s.err == nil {
		s.err = err
	}
	s.create(sai.ObjectTypeGenericProgrammable,
		sai.Attr{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(flymon.ObjectTask)},
		sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(text)})
}
