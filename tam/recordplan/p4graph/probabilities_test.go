package p4graph

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
)

// branch returns a graph with a table that branches by its hit, one whose hit and miss may both end, one with actions,
// and one without a key.
func branch() *record.Graph {
	g := graphOf([]string{"a", "b", "c", "?x", "k"},
		"a b hit", "a c miss", "b c hit", "b EXIT hit", "b EXIT miss", "c x go", "c x on", "c EXIT off", "x k true",
		"x EXIT false", "k EXIT run")
	g.Nodes[4].Keyless = true
	return g
}

// text returns probabilities as "from>to label p".
func text(p record.Probabilities) string {
	var all []string
	for _, e := range p.Edges {
		to := record.Exit
		if e.To != nil {
			to = *e.To
		}
		all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%s>%s %s %.4g", e.From, to, e.Label, e.P)), " "))
	}
	for _, id := range []string{"a", "b", "c", "x", "k"} {
		if h, ok := p.Hits[id]; ok {
			all = append(all, fmt.Sprintf("%s:%.4g", id, h))
		}
	}
	return strings.Join(all, ", ")
}

func TestUniform(t *testing.T) {
	want := "a>b hit 0.5, a>c miss 0.5, b>c hit 0.5, b>EXIT miss 0.25, b>EXIT hit 0.25, c>x 0.5, c>EXIT 0.5, x>k 0.5, " +
		"x>EXIT 0.5, k>EXIT 1, a:0.5, b:0.75, c:0.5"
	if got := text(Uniform(branch())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReadProbabilities(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"edges": [{"from": "a", "to": "b", "p": 0.9}]}`, "a>b hit 0.9, a>c miss 0.1 | a:0.9"},
		{`{"edges": [], "hits": {"a": 0.9}}`, "a>b hit 0.9, a>c miss 0.1 | a:0.9"},
		{`{"edges": [{"from": "a", "to": "b", "p": 0.9}, {"from": "a", "to": "c", "p": 0.1}], "hits": {"a": 0.9}}`,
			"a>b hit 0.9, a>c miss 0.1 | a:0.9"},
		// b leads to the end after a miss and after some hits.
		{`{"edges": [{"from": "b", "to": "EXIT", "p": 0.6, "label": "miss"}]}`,
			"b>c hit 0.2, b>EXIT miss 0.6, b>EXIT hit 0.2 | b:0.4"},
		{`{"edges": [{"from": "b", "to": "c", "p": 0.2}], "hits": {"b": 0.5}}`,
			"b>c hit 0.2, b>EXIT miss 0.5, b>EXIT hit 0.3 | b:0.5"},
		{`{"hits": {"b": 0.5}}`, "b>c hit 0.25, b>EXIT miss 0.5, b>EXIT hit 0.25 | b:0.5"},
		// Probabilities of action labels are added up.
		{`{"edges": [{"from": "c", "to": "x", "p": 0.1, "label": "go"}, {"from": "c", "to": "x", "p": 0.2, "label": ` +
			`"on"}], "hits": {"c": 0.25}}`, "c>x 0.3, c>EXIT 0.7 | c:0.25"},
		{`{"edges": [{"from": "x", "to": "k", "p": 0}], "hits": {"k": 0.4}}`, "x>k 0, x>EXIT 1"},
		{`{"edges": [{"from": "x", "to": "k", "p": 0.3333333}, {"from": "x", "to": null, "p": 0.6666666}]}`,
			"x>k 0.3333, x>EXIT 0.6667"},
	} {
		p, err := ReadProbabilities(strings.NewReader(c.text), branch())
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		edges, hit, _ := strings.Cut(c.want, " | ")
		if got := text(p); !strings.Contains(got, edges) || !strings.Contains(got, hit) {
			t.Errorf("%s: got %s\nwant %s", c.text, got, c.want)
		}
		again, err := Complete(branch(), p)
		if err != nil || text(again) != text(p) {
			t.Errorf("completed twice: %s, then %s: %v", text(p), text(again), err)
		}
	}
}

func TestBadProbabilities(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{`, "unexpected EOF"},
		{`{} {}`, "follows"},
		{`{"edge": []}`, `unknown field "edge"`},
		{`{"edges": [{"from": "a", "to": "b", "prob": 1}]}`, `unknown field "prob"`},
		{`{"edges": [{"from": "z", "to": "b", "p": 1}]}`, `edge 0 is from "z", which is no node`},
		{`{"edges": [{"from": "EXIT", "to": "b", "p": 1}]}`, `which is no node`},
		{`{"edges": [{"from": "a", "to": "k", "p": 1}]}`, `edge 0 from "a": to "k": the graph has no such edge`},
		{`{"edges": [{"from": "a", "to": "b", "p": 1, "label": "miss"}]}`, `no edge "miss" there`},
		{`{"edges": [{"from": "a", "to": "b", "p": 1.5}]}`, `1.5, want 0 to 1`},
		{`{"edges": [{"from": "a", "to": "b", "p": -1}]}`, `-1, want 0 to 1`},
		{`{"edges": [{"from": "a", "to": "b", "p": 0.5}, {"from": "a", "to": "b", "p": 0.5}]}`, `given twice`},
		{`{"edges": [{"from": "c", "to": "x", "p": 0.5}, {"from": "c", "to": "x", "p": 0.5, "label": "go"}]}`, `given twice`},
		{`{"edges": [{"from": "a", "to": "b", "p": 0.5}, {"from": "a", "to": "c", "p": 0.4}]}`,
			`node "a": its edges sum up to 0.9, want 1`},
		{`{"edges": [{"from": "a", "to": "b", "p": 0.8}, {"from": "a", "to": "c", "p": 0.4}]}`, `sum up to 1.2`},
		{`{"edges": [{"from": "k", "to": null, "p": 0.9}]}`, `node "k": its edges sum up to 0.9`},
		{`{"edges": [{"from": "a", "to": "b", "p": 0.5}], "hits": {"a": 0.4}}`,
			`node "a": 0.4 of it hits, which its edges do not`},
		{`{"edges": [{"from": "b", "to": null, "p": 0.1}]}`,
			`edge 0 from "b": to "EXIT": hits and misses both lead there, want label "hit" or "miss"`},
		{`{"hits": {"z": 0.4}}`, `hits of "z", which is no table`},
		{`{"hits": {"x": 0.4}}`, `hits of "x", which is no table`},
		{`{"hits": {"a": 2}}`, `hits of "a": 2, want 0 to 1`},
	} {
		if _, err := ReadProbabilities(strings.NewReader(c.text), branch()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestRandom(t *testing.T) {
	g := branch()
	if text(Random(g, 1)) != text(Random(g, 1)) || text(Random(g, 1)) == text(Random(g, 2)) {
		t.Error("the seed is what makes the difference")
	}
	randtest.Run(t, randtest.Cases{Count: 50}, func(t *testing.T, seed uint64) {
		p := Random(g, seed)
		if again, err := Complete(g, p); err != nil || text(again) != text(p) {
			t.Fatalf("%s: %v", text(p), err)
		}
		sums := map[string]float64{}
		for _, e := range p.Edges {
			if e.P <= 0 {
				t.Errorf("%+v", e)
			}
			sums[e.From] += e.P
		}
		for node, sum := range sums {
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s sums up to %v", node, sum)
			}
		}
	})
}

func TestFromPaths(t *testing.T) {
	g := branch()
	const counted = `{"switch": 1, "paths": [
		{"path": [{"table": "a", "hit": true}, {"table": "b", "hit": true}], "packets": 2},
		{"path": [{"table": "a", "hit": true}, {"table": "b"}], "packets": 1},
		{"path": [{"table": "a", "hit": true}, {"table": "b", "hit": true}, {"table": "c", "hit": true}, {"table": "k"}],
		 "packets": 1},
		{"path": [{"table": "a"}, {"table": "c"}, {"table": "k", "hit": true}], "packets": 4},
		{"path": [{"table": "a"}, {"table": "c", "hit": true}], "packets": 12}]}`
	paths, err := ReadPaths(strings.NewReader(counted))
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromPaths(g, paths)
	if err != nil {
		t.Fatal(err)
	}
	// The 12 packets from c are divided equally between the direct edge to the end and the one over x.
	want := "a>b hit 0.2, a>c miss 0.8, b>c hit 0.25, b>EXIT miss 0.25, b>EXIT hit 0.5, c>x 0.6471, c>EXIT 0.3529, x>k " +
		"0.4545, x>EXIT 0.5455, k>EXIT 1, a:0.2, b:0.75, c:0.7647"
	if got := text(p); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	list, err := json.Marshal(paths)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ReadPaths(strings.NewReader(string(list))); err != nil || !reflect.DeepEqual(again, paths) {
		t.Errorf("%v %v", again, err)
	}
	for _, c := range []struct{ text, want string }{
		{`[{"path": [{"table": "z"}], "packets": 1}]`, `path 0: step 0 is "z", which is no table`},
		{`[{"path": [{"table": "x"}], "packets": 1}]`, `path 0: step 0 is "x", which is no table`},
		{`[{"path": [{"table": "b"}], "packets": 1}]`,
			`path 0: the graph has no way over conditions from the beginning to "b"`},
		{`[{"path": [], "packets": 1}]`, `from the beginning to the end`},
		{`[{"path": [{"table": "a"}, {"table": "b"}], "packets": 1}]`, `from "a" to "b"`},
		{`[{"path": [{"table": "a", "hit": true}], "packets": 1}]`, `from a hit of "a" to the end`},
		{`{"ways": []}`, `without "paths"`},
		{`{"paths": 7}`, `want a list`},
		{`[`, "no JSON"},
		{`[{"path": 1}]`, `"path" is a number, want a list`},
		{``, "no JSON"},
	} {
		paths, err := ReadPaths(strings.NewReader(c.text))
		if err == nil {
			_, err = FromPaths(g, paths)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func FuzzReadProbabilities(f *testing.F) {
	f.Add(`{"edges": [{"from": "b", "to": null, "p": 0.6, "label": "miss"}], "hits": {"b": 0.5}}`)
	f.Fuzz(func(t *testing.T, text string) {
		g := branch()
		p, err := ReadProbabilities(strings.NewReader(text), g)
		if err != nil {
			return
		}
		if _, err := Complete(g, p); err != nil {
			t.Fatalf("what Complete made it does not take: %v", err)
		}
	})
}

func FuzzReadPaths(f *testing.F) {
	f.Add(`[{"path": [{"table": "a", "hit": true}, {"table": "b"}], "packets": 1}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if paths, err := ReadPaths(strings.NewReader(text)); err == nil {
			_, _ = FromPaths(branch(), paths)
		}
	})
}
