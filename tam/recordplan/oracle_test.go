package recordplan

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// oracle holds the figures from README.md in the folder TAMTAM_P4 for its programs. The programs are real, and their
// figures were computed by other software. They are not part of the project.
const oracle = `
file pipe tables conds edges longest paths sequences walks cut strict/other needed stages
bm-l2_switch ingress 2/0 0 4/2 2/2 1 1 4 2/2 0/0 0 1
bm-simple_router ingress 2/0 1 6/4 3/2 2 2 5 1/0 1/0 1 2
bm-simple_router egress 1/0 0 2/1 1/1 1 1 2 1/1 0/0 0 1
p4guide-v1model-special-ops ingress 8/2 3 19/14 9/6 6 6 21 6/4 9/6 5 3
p4guide-v1model-special-ops egress 6/2 3 16/12 7/4 4 4 14 3/2 2/1 2 3
p4guide-p414-special-ops ingress 6/4 2 10/10 6/4 3 3 3 4/3 4/4 4 2
p4guide-p414-special-ops egress 8/6 5 18/18 7/3 6 6 6 3/2 6/6 6 2
onos-basic ingress 8/5 4 21/16 11/7 10 10 98 3/1 16/0 8 5
onos-basic egress 3/3 2 7/7 5/3 4 4 4 3/1 2/0 2 2
onos-int ingress 7/3 3 19/13 9/6 5 5 97 2/1 5/0 4 3
onos-int egress 14/10 9 66/32 23/14 146 146 111026 3/1 45/1 14 6
netcache ingress 86/84 21 128/128 66/45 104976 78732 104976 13/2 312/0 99 11
netcache egress 10/9 7 24/24 16/9 8 5 8 2/1 19/0 15 3
onos-fabric ingress 28/15 19 85/66 35/19 1809 1449 7095609 3/1 81/5 44 7
onos-fabric egress 13/11 10 36/34 17/8 92 62 272 1/0 22/0 13 3
onos-fabric-int ingress 29/15 19 87/67 36/20 1809 1449 14094009 3/1 84/5 46 7
onos-fabric-int egress 23/17 18 96/60 35/18 3512 2282 7495202 1/0 102/0 24 8
switch-p4_14-ingress ingress 86/4 55 369/216 99/55 747381841920 156375204480 20100852130875493493882880` +
	` 24/10 1238/475 197 17
switch-p4_14-egress egress 43/2 22 264/89 61/39 374547 111170 12478706480213362329610 2/0 283/38 78 11
ontas-p4_14-ingress ingress 22/0 17 75/56 33/16 6400 2048 5734400 13/6 98/0 72 4
`

// ours holds the figures in which tamtam differs from the oracle, with the reasons.
var ours = map[string]string{
	// The direct meter of host_meter_table writes a field when the table hits. So there is one more table that writes
	// it. Two tables follow a condition that reads it.
	"onos-basic/ingress strict/other": "19/0",
	// mark_to_drop writes mcast_grp of its header argument, as behavioral-model does. multicast writes it too.
	"onos-fabric/ingress strict/other":     "82/5",
	"onos-fabric/ingress needed":           "45",
	"onos-fabric-int/ingress strict/other": "85/5",
	// A dependency is not needed if a chain of other dependencies implies it. The oracle searched only for chains of
	// two.
	"switch-p4_14-ingress/ingress needed": "194",
	"switch-p4_14-egress/egress needed":   "76",
}

func p4(t *testing.T, file string) string {
	t.Helper()
	folder := os.Getenv("TAMTAM_P4")
	if folder == "" {
		t.Skip("TAMTAM_P4 names no folder of real programs")
	}
	return filepath.Join(folder, file+".json")
}

func readFile(t *testing.T, path, pipeline string) *record.Graph {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := p4graph.Read(bufio.NewReader(f), pipeline)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOracle(t *testing.T) {
	p4(t, "")
	lines := strings.Split(strings.TrimSpace(oracle), "\n")
	columns := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		want := strings.Fields(line)
		t.Run(want[0]+"/"+want[1], func(t *testing.T) {
			f, err := p4graph.Measure(readFile(t, p4(t, want[0]), want[1]))
			if err != nil {
				t.Fatal(err)
			}
			two := func(a, b int) string { return strconv.Itoa(a) + "/" + strconv.Itoa(b) }
			got := []string{
				want[0], want[1], two(f.Tables, f.Keyless), strconv.Itoa(f.Conditions), two(f.Edges, f.Successors),
				two(f.LongestPath, f.LongestRun), f.NodePaths.String(), f.Paths.String(), f.Walks.String(),
				two(f.Cuts, f.CutTables), two(f.Strict, f.NonStrict), strconv.Itoa(f.Needed), strconv.Itoa(f.MinStages),
			}
			for i := range want {
				if other, ok := ours[want[0]+"/"+want[1]+" "+columns[i]]; ok {
					want[i] = other
				}
				if got[i] != want[i] {
					t.Errorf("%s: %s, want %s", columns[i], got[i], want[i])
				}
			}
			if len(f.Unreached) > 0 {
				t.Errorf("no packet comes to %q", f.Unreached)
			}
		})
	}
}

// The plain graphs list the dependencies with their kinds. The dependencies that tamtam derives from reads and writes
// are the same.
func TestOracleDependencies(t *testing.T) {
	for _, file := range []string{"switch-p4_14-ingress", "switch-p4_14-egress", "ontas-p4_14-ingress"} {
		g := readFile(t, p4(t, file), "")
		pairs := func(deps []record.Dep) map[[2]string]map[string]bool {
			all := map[[2]string]map[string]bool{}
			for _, d := range deps {
				of := map[string]bool{}
				for _, k := range d.Kinds {
					of[k] = true
				}
				all[[2]string{d.From, d.To}] = of
			}
			return all
		}
		given := pairs(g.Deps)
		g.Deps = nil
		if found := pairs(p4graph.Dependencies(g)); !reflect.DeepEqual(found, given) {
			t.Errorf("%s: %d pairs, want %d", file, len(found), len(given))
			for p, k := range given {
				if !reflect.DeepEqual(found[p], k) {
					t.Logf("%v: %v, want %v", p, found[p], k)
				}
			}
		}
	}
}
