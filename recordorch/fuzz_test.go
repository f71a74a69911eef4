package recordorch

import (
	"context"
	"encoding/json"
	"testing"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// A babbler is a switch that returns arbitrary content from register reads.
type babbler struct {
	sai.API
	text []byte
	open int // number of open register reads
}

func (b *babbler) Create(context.Context, sai.ObjectType, []sai.Attr) (sai.OID, error) {
	b.open++
	return 1, nil
}

func (b *babbler) Remove(context.Context, sai.Key) error {
	b.open--
	return nil
}

func (b *babbler) Get(context.Context, sai.Key, []sai.Attr) ([]sai.Attr, error) {
	return []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(b.text)}}, nil
}

// Whatever register reads return, the result is an error or the requested data. A plan can be made for a returned
// graph, the number of paths is limited, and each label has its counters.
func FuzzWindows(f *testing.F) {
	graph, err := json.Marshal(graphOf(7))
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		`{"attributes":[{"counted":{"value":[7,10000,0]}},{"graph":{"value":` + string(graph) + `}}]}`,
		`{"attributes":[{"counted":{"value":[7,1,0]}},{"paths":{"value":[{"path":[{"table":"a","hit":true}],` +
			`"packets":3}]}}]}`,
		`{"attributes":[{"counters":{"value":[1,2,3,4,5,6,7,8]}}]}`,
		`{"attributes":[{"counted":{"value":[1]}},{"graph":{"value":null}}]}`,
		`{"attributes":[{"counters":{"value":[1,2,3,4]}}]}`, `[]`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &babbler{text: text}
		o := &Orch{Feature: &feature.Feature[schema.RecordFlow, binding]{
			Windows: feature.NewWindows(feature.Config{SAI: b, Daemon: &orch.Daemon{}})}}
		if p, err := o.describe(t.Context(), true, false); err == nil &&
			(p4graph.Check(p.graph) != nil || p.graph.Version != p.version) {
			t.Errorf("graph %+v", p.graph)
		}
		if p, err := o.describe(t.Context(), false, true); err == nil && len(p.paths) > maxPaths {
			t.Errorf("%d paths", len(p.paths))
		}
		if words, err := o.Windows.Words(t.Context(), counted, []string{"a", "b"}); err == nil && len(words) != 2 {
			t.Errorf("counters of %d labels, want 2", len(words))
		}
		o.Windows.Close(t.Context())
		if b.open > 0 {
			t.Errorf("%d windows stay", b.open)
		}
	})
}

// Any counts of paths result in plans or errors.
func FuzzPaths(f *testing.F) {
	f.Add([]byte(`[{"path":[{"table":"a","hit":true},{"table":"b","hit":true},{"table":"d"}],"packets":9000}]`))
	f.Add([]byte(`[{"path":[{"table":"d"},{"table":"a"}],"packets":18446744073709551615},{"path":[],"packets":1}]`))
	g := graphOf(1, "e")
	f.Fuzz(func(t *testing.T, text []byte) {
		var paths []record.PathCount
		if json.Unmarshal(text, &paths) != nil || len(paths) > maxPaths {
			return
		}
		p, err := makePlan(t.Context(), g, paths, 0, settings())
		if err == nil && (p.ID == 0 || len(p.Recorded) == 0) {
			t.Errorf("plan %+v", p)
		}
	})
}
