package lab

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tamtam/internal/racetest"
)

// fabric reads a topology that contains only a fabric.
func fabric(t *testing.T, text string) (*Topology, error) {
	t.Helper()
	return Parse("fabric.yaml", []byte("experiment: fabric\nduration: 200us\nfabric: "+text), nil)
}

// Fabrics have the expected switches, hosts, links and flow groups.
func TestFabricSizes(t *testing.T) {
	racetest.Stepped(t)
	for _, tt := range []struct {
		text                              string
		switches, hosts, links, flowgroup int
	}{
		{"{kind: leaf-spine, leaves: 3, spines: 2}", 5, 3, 9, 0},
		{"{kind: leaf-spine, leaves: 24, spines: 8, hosts: 2, traffic: {pps: 1000}}", 32, 48, 24*8 + 48, 48},
		{"{kind: fat-tree, arity: 2}", 5, 2, 6, 0},
		{"{kind: fat-tree, arity: 8, hosts: 2, traffic: {rate: 1Gbps}}", 80, 64, 64 + 2*128, 64},
		{"{kind: fat-tree, arity: 28}", 980, 392, 392 + 2*28*14*14, 0},
	} {
		top, err := fabric(t, tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got := []int{len(top.Switches), len(top.Hosts), len(top.Links), len(top.Traffic)}
		if want := []int{tt.switches, tt.hosts, tt.links, tt.flowgroup}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: switches, hosts, links, flow groups %v, want %v", tt.text, got, want)
		}
		if err := top.Validate(); err != nil || len(top.Switches) != tt.switches {
			t.Errorf("%s, validated again: %d switches, %v", tt.text, len(top.Switches), err)
		}
	}
}

// Invalid fabrics are rejected with a clear error.
func TestFabricRefused(t *testing.T) {
	for _, tt := range [][2]string{
		{"{kind: ring}", `fabric.kind: "ring": want fat-tree or leaf-spine`},
		{"{kind: fat-tree, arity: 3}", `fabric.arity: "3": want an even number from 2 to 128`},
		{"{kind: fat-tree, arity: 4, hosts: 3}", `fabric.hosts: "3": want at most half as many`},
		{"{kind: fat-tree, arity: 64}", `fabric: "5120": want at most 2048 switches`},
		{"{kind: leaf-spine, leaves: 1, spines: 2}", `fabric.leaves: "1": want 2 to 128`},
		{"{kind: leaf-spine, leaves: 4, spines: 128}", `fabric.spines: "128": want 1 to 128, together`},
		{"{kind: leaf-spine, leaves: 4, spines: 2, traffic: {name: x, pps: 5}}", `fabric.traffic: "x": want neither name`},
	} {
		if _, err := fabric(t, tt[0]); err == nil || !strings.Contains(err.Error(), tt[1]) {
			t.Errorf("%s: %v, want %q", tt[0], err, tt[1])
		}
	}
}

// A fat-tree delivers every frame, over more than one core switch. The result is the same on 1, 2 and 5 workers.
func TestFabricOnWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("TestWorkersAgree has workers for the race detector")
	}
	text := "{kind: fat-tree, arity: 4, traffic: {pps: 500000, kind: poisson, flows: {count: 16}, start: 20us, stop: " +
		"150us}}"
	var want []byte
	for _, workers := range []int{1, 5, 2} {
		top, err := fabric(t, text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), top, Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
			cores := 0
			for _, f := range r.Flows {
				for by := range f.Paths {
					if strings.HasPrefix(by, "core") {
						cores++
					}
				}
				if f.Sent == 0 || f.Received != f.Sent || f.Lost+f.Stray != 0 || f.InFlight != 0 {
					t.Errorf("%+v", f)
				}
			}
			if cores < 2*len(r.Flows) {
				t.Errorf("%d ways over core switches for %d hosts, want some for each", cores, len(r.Flows))
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d workers had another result", workers)
		}
	}
}

// Totals are sums over all flow groups and all switches.
func TestTotals(t *testing.T) {
	r := Result{
		Flows:    map[string]Flow{"a": {Sent: 3, Received: 2, Delay: Delay{Min: 5, Max: 9}}, "b": {Sent: 4}},
		Switches: map[string]*Node{},
	}
	for name, want := range map[string]int64{
		"flows.sent": 7, "flows.received": 2, "flows.delay.min": 5, "flows.delay.max": 9,
	} {
		if m, ok := r.Metric(name); !ok || m.Value != want {
			t.Errorf("%s: %d, %v, want %d", name, m.Value, ok, want)
		}
	}
	for _, name := range []string{"flows.delay.mean", "flows.none", "switches.count", "switches.none"} {
		if m, ok := r.Metric(name); ok {
			t.Errorf("%s: %d, want none", name, m.Value)
		}
	}
}

// Switches without work do not run until they have some.
func TestIdleSwitchesStayBehind(t *testing.T) {
	racetest.Stepped(t)
	top, err := fabric(t, "{kind: fat-tree, arity: 4, traffic: {pps: 500000, start: 20us, stop: 50us}}")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(t.Context(), top, Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.pass(t.Context(), 200*Microsecond); err != nil {
		t.Fatal(err)
	}
	soon := l.now + Microsecond
	if busy := l.busy(nil, soon, false); len(busy) > 0 {
		t.Errorf("%d switches are worked on in quiet", len(busy))
	}
	l.nodes[3].mail, l.nodes[7].own = []*wire{nil}, l.now
	if busy := l.busy(nil, soon, false); len(busy) != 2 || busy[0] != l.nodes[3] || busy[1] != l.nodes[7] {
		t.Errorf("%d switches, want the one that frames came for and the one that has work", len(busy))
	}
	if n := len(l.busy(nil, soon, true)); n != 20 {
		t.Errorf("%d switches at an edge, want all", n)
	}
	if n := len(l.busy(nil, l.abreast+together, false)); n != 20 {
		t.Errorf("%d switches after a long time, want all", n)
	}
}
