package flymonorch

import (
	"context"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/tam/flymon"
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

func (*babbler) Set(context.Context, sai.Key, sai.Attr) error { return nil }
func (b *babbler) Remove(context.Context, sai.Key) error {
	b.open--
	return nil
}

func (b *babbler) Get(context.Context, sai.Key, []sai.Attr) ([]sai.Attr, error) {
	return []sai.Attr{{ID: sai.GenericProgrammableAttrEntry, Value: sai.Bytes(b.text)}}, nil
}

// Whatever register reads return, the result is an error or the requested data, and never more.
func FuzzWindows(f *testing.F) {
	for _, text := range []string{
		`{"attributes":[{"time":{"value":[1700000000,5,1,0,3]}},{"status":{"value":[{"generation":1,"banks":[{"epoch":7,` +
			`"used":true},{}],"frozen":[{},{}]},null]}}]}`,
		`{"attributes":[{"words":{"value":"AAAAAQAAAAI="}}]}`,
		`{"attributes":[{"keys":{"value":"AAAAAQAAAAI="}},{"truth":{"value":{"flows":1,"values":[3],` +
			`"heavy":[{"flow":"AA==","value":3}]}}}]}`,
		`{"attributes":[{"geometry":{"value":{"groups":9,"spliced":3,"units":3,"cmus":3,"width":32,"depth":65536,` +
			`"partitions":32,"map-entries":256,"digests":1024}}}]}`,
		`{"attributes":[{"time":{"value":[99999999999999,5,1,0,3]}},{"status":{"value":[null]}}]}`, `[]`, ``,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := &babbler{text: text}
		windows := feature.NewWindows(feature.Config{SAI: b, Daemon: &orch.Daemon{}})
		o := &Orch{Feature: &feature.Feature[flymon.Task, deployment]{Windows: windows}}
		r := (&reader{windows: windows}).round(t.Context())
		at, list, err := r.status([]string{"a", "b"})
		if err == nil && (len(list) != 2 || time.Unix(0, int64(at.now)).Before(time.Unix(0, 0))) {
			t.Errorf("status of %d tasks at %+v", len(list), at)
		}
		if words, err := r.words(part{task: "a", count: 2}); err == nil && len(words) != 2 {
			t.Errorf("%d words, want 2", len(words))
		}
		if keys, err := r.digests("a", 0, 3); err == nil && len(keys) > 3 {
			t.Errorf("%d digests, want at most 3", len(keys))
		}
		if tr, err := r.truth("a", 0, 0, nil); err == nil && tr != nil && len(tr.Values) > 0 {
			t.Errorf("truth of %d flows, want none", len(tr.Values))
		}
		if g, err := o.geometry(t.Context()); err == nil && g.Validate() != nil {
			t.Errorf("geometry %+v", g)
		}
		if r.close(); b.open > 0 {
			t.Errorf("%d windows stay", b.open)
		}
	})
}
