package saisim_test

import (
	"testing"

	"tamtam/sai"
	"tamtam/tam/record"
)

// Any ENTRY results in a plan by which packets are recorded, or in none. Register reads return existing data, or are
// refused.
func FuzzRecordObjects(f *testing.F) {
	r := newRecorder(f, erspanTo1)
	r.load(acting())
	r.plan.Graph = r.Describe().Version
	r.plan.Marks = append(r.plan.Marks, record.ChipMark{Table: "ingress.class", When: record.MarkAction, Bit: 40,
		Actions: []string{"gold", ""}},
		record.ChipMark{Table: "egress.out", When: record.MarkAction, Bit: 41, Actions: []string{"down"}})
	names := []string{record.ObjectPlan, record.ObjectCounters, record.ObjectGraph}
	f.Add(uint8(0), []byte(planEntry(f, r.plan)))
	f.Add(uint8(1), []byte(`{"attributes":[{"labels":{"value":["tr:s"]}}]}`))
	f.Add(uint8(2), []byte(`{"attributes":[{"describe":{"value":{"graph":true,"paths":true}}}]}`))
	f.Add(uint8(0), []byte(`{"attributes":[{"plan":{"value":null}}, null]}`))
	f.Add(uint8(0),
		[]byte(`{"attributes":[{"plan":{"value":{"id":1,"phv":"8","offset":9223372036854775807,"marks":[{}],`+
			`"sessions":[{}]}}}]}`))
	r.remove(sai.ObjectTypeGenericProgrammable, r.object)
	frame := udpFrame(1, 2, 60)
	f.Fuzz(func(t *testing.T, which uint8, entry []byte) {
		r.TB = t
		s := sketcher{r.rig}
		oid, ok := s.fuzzed(names[int(which)%len(names)], entry)
		if !ok {
			return
		}
		for _, o := range r.send(6, frame) {
			if o.port != 1 {
				continue
			}
			if _, _, err := record.Decode(o.data); err != nil {
				t.Fatal(err)
			}
		}
		s.acceptsOwnOutput(oid)
	})
}
