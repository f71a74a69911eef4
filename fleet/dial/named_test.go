package dial

import (
	"reflect"
	"strings"
	"testing"

	"tamtam/collector/topology"
)

const namedTopology = `switches:
- {name: leaf1, target: "10.0.0.1:8080"}
- {name: leaf2, target: "10.0.0.2:8080"}
- {name: twin1, target: "10.0.0.9:8080"}
- {name: twin2, target: "10.0.0.9:8080"}
- {name: plain}
hosts:
- {name: client}
`

const namedPaths = `paths:
- name: there
  points:
  - {switch: l1, target: "10.0.0.1:8080", session: web}
  - {switch: plain, target: "10.0.0.3:8080", session: web}
  - {switch: other, target: "10.0.0.9:8080", session: web}
graphs:
- name: web
  points:
  - {switch: l1, target: "10.0.0.1:8080", session: web}
  - {switch: leaf2, target: "10.0.0.2:8080", session: web}
  - {switch: s1, target: "10.0.0.4:8080", session: web}
  links: [[l1, s1], [s1, leaf2]]
  from: [l1]
  to: [leaf2]
`

func namedOf(t *testing.T, paths string) (before, after File, err error) {
	t.Helper()
	n, err := topology.Parse([]byte(namedTopology), topology.Containerlab{})
	if err != nil {
		t.Fatal(err)
	}
	if before, err = ReadFile(strings.NewReader(paths)); err != nil {
		t.Fatal(err)
	}
	after, err = before.Named(n)
	return before, after, err
}

// A point with a switch's target has that switch's name, also in its graph's links and ends. Everything else is
// unchanged, and so is the original file.
func TestNamed(t *testing.T) {
	before, got, err := namedOf(t, namedPaths)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ReadFile(strings.NewReader(strings.NewReplacer("l1,", "leaf1,", "[l1]", "[leaf1]").Replace(namedPaths)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if same, _ := ReadFile(strings.NewReader(namedPaths)); !reflect.DeepEqual(before, same) {
		t.Errorf("what was given has changed: %+v", before)
	}
	if same, err := before.Named(nil); err != nil || !reflect.DeepEqual(before, same) {
		t.Errorf("without a topology: %+v, %v", same, err)
	}
}

// Contradictions to the topology are named: path or graph, point, and both names.
func TestNamedRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"switch: plain", "switch: client", `path there: point 2: switch is "client", and that is a host of the topology`},
		{`leaf2, target: "10.0.0.2:8080", session: web`, `leaf2, target: "10.0.0.1:8080", session: other`,
			`graph web: point 2: switch is "leaf2" and target is "10.0.0.1:8080", which is the target of leaf1`},
		// two points at the same switch
		{`s1, target: "10.0.0.4:8080", session: web`, `s1, target: "10.0.0.2:8080", session: other`, "web"},
	} {
		_, _, err := namedOf(t, strings.Replace(namedPaths, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}
