package dial

import (
	"fmt"
	"strings"
	"testing"
)

const twoPaths = `
paths:
- name: there
  back: back
  wait: 2
  points:
  - {switch: a, target: "10.0.0.1:8080", session: s1}
  - {switch: b, target: "10.0.0.2:8080", session: s1}
- name: back
  points:
  - {switch: b, target: "10.0.0.2:8080", session: s2}
  - {switch: a, target: "10.0.0.1:8080", session: s2}
`

func TestReadFile(t *testing.T) {
	f, err := ReadFile(strings.NewReader(twoPaths))
	if err != nil || len(f.Paths) != 2 || f.Paths[0].Wait != 2 ||
		f.Paths[1].Points[0] != (Point{"b", "10.0.0.2:8080", "s2"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := ReadFile(strings.NewReader(`{"paths": [{"name": "p", "points": [
		{"switch": "a", "target": "unix:/run/a", "session": "s"}, {"switch": "b", "target": "[::1]:8080",
		 "session": "s"}]}]}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{twoPaths, "", "the file is empty: want paths or graphs"},
		{twoPaths, "paths: []", "no paths and no graphs"},
		{"wait: 2", "weight: 2", "field weight not found"},
		{"wait: 2", "wait: 9", "path there: wait is 9, want 1 to 8 periods"},
		{"back: back", "back: bck", `path there: back is "bck", want the name of a path`},
		{"back: back", "back: there", "paths there and there are not opposite"},
		{"name: back", "name: there", "path 2 (there): there is another path or graph of that name"},
		{"name: back", "name: a+b", `path 2: name is "a+b", want 1 to 100 visible ASCII characters`},
		{"switch: a,", "switch: b,", "path there: switch b is twice on it"},
		{"10.0.0.1:8080", "10.0.0.1", `path 1 (there): point 1: target is "10.0.0.1", want HOST:PORT or unix:/PATH`},
		{"10.0.0.1:8080", "10.0.0.2:8080",
			"path 1 (there): point 2: switch b has target 10.0.0.2:8080 and session s1, and so has switch a"},
		{"session: s1", `session: ""`, `path 1 (there): point 1: session is ""`},
		{"switch: a,", "switch: 'a|b',", `path 1 (there): point 1: switch is "a|b"`},
		{twoPaths, twoPaths + "\n---\n" + twoPaths, "more than one document"},
	} {
		_, err := ReadFile(strings.NewReader(strings.Replace(twoPaths, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}

const aGraph = `
graphs:
- name: web
  points:
  - {switch: l1, target: "10.0.0.1:8080", session: s}
  - {switch: s1, target: "10.0.0.2:8080", session: s}
  - {switch: s2, target: "10.0.0.3:8080", session: s}
  - {switch: l2, target: "10.0.0.4:8080", session: s}
  - {switch: l3, target: "10.0.0.5:8080", session: s}
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2], [l3, s1]]
  from: [l1]
  to: [l2]
`

// A graph with from and to has the links of the shortest paths, and its other switches are watched.
func TestReadGraph(t *testing.T) {
	f, err := ReadFile(strings.NewReader(aGraph))
	if err != nil {
		t.Fatal(err)
	}
	if g := f.Graphs[0].join(); len(g.Points) != 4 || len(g.Watched) != 1 || g.Watched[0].Switch != "l3" ||
		fmt.Sprint(g.Links) != "[l1>s1 l1>s2 s1>l2 s2>l2]" {
		t.Errorf("%+v", g)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"name: web", "name: ''", `graph 1: name is "", want 1 to 100`},
		{"  to: [l2]\n", "", `graph 1 (web): from ["l1"] and to []: want switches in both, or neither`},
		{"to: [l2]", "to: [l9]", "graph web has no links"},
		{"[l1, s1]", "[l1, s7], [s7, l2]", "graph web: link l1>s7: want switches that are points of it"},
		{"[l1, s1]", "[l1]", "yaml"},
		{"switch: s1", "switch: s2", "graph web: switch s2 is there twice"},
		{"10.0.0.2:8080", "10.0.0.3:8080",
			"graph 1 (web): point 3: switch s2 has target 10.0.0.3:8080 and session s, and so has switch s1"},
		{"10.0.0.2:8080", "10", `graph 1 (web): point 2: target is "10"`},
		{"  from: [l1]\n  to: [l2]\n", "  wait: 9\n", "graph web: wait is 9"},
		{"graphs:", twoPaths + "\ngraphs:\n- {name: there}", "path 1 (there): there is another path or graph of that name"},
	} {
		text := strings.Replace(aGraph, tt.old, tt.new, 1)
		if _, err := ReadFile(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}

// The total number of reports kept for a period is bounded, in addition to that of each graph.
func TestFileIsBounded(t *testing.T) {
	var points, links []string
	for i := range 256 {
		points = append(points, fmt.Sprintf(`{switch: s%d, target: "h%[1]d:1", session: s}`, i))
		if i > 0 {
			links = append(links, fmt.Sprintf("[s%d, s%d]", i-1, i))
		}
	}
	text := "graphs:\n"
	for i := range 20 {
		text += fmt.Sprintf("- {name: g%d, points: [%s], links: [%s]}\n", i, strings.Join(points, ", "),
			strings.Join(links, ", "))
	}
	if _, err := ReadFile(strings.NewReader(text)); err == nil ||
		!strings.Contains(err.Error(), "keep more than 524288 reports of a period") {
		t.Errorf("%v", err)
	}
}

func FuzzReadFile(f *testing.F) {
	f.Add(twoPaths)
	f.Add(aGraph)
	f.Add("paths: [{name: p, points: [&a {switch: x}, *a]}]")
	f.Fuzz(func(t *testing.T, s string) {
		if file, err := ReadFile(strings.NewReader(s)); err == nil && len(file.Paths)+len(file.Graphs) == 0 {
			t.Errorf("%q has no paths", s)
		}
	})
}

// Options that contradict each other are refused before anything is sent.
func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"insecure means no TLS":               {Insecure: true, CAFile: "ca.pem"},
		"skip-verify accepts any certificate": {SkipVerify: true, CAFile: "ca.pem"},
		"tls-cert and tls-key":                {CertFile: "c.pem"},
		"a password needs a user":             {Password: "p"},
		"open /nonexistent/ca.pem":            {CAFile: "/nonexistent/ca.pem"},
		"open /nonexistent/c.pem":             {CertFile: "/nonexistent/c.pem", KeyFile: "/nonexistent/k.pem"},
		"file.go: no PEM certificate in":      {CAFile: "file.go"},
	} {
		if _, err := o.credentials(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
