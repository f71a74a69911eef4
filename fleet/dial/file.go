package dial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/collector/marks"
	"tamtam/collector/whole"
	"tamtam/tam/altmark"
)

// A File names the paths and graphs to measure. It is YAML, and so may also be JSON:
//
//	paths:
//	- name: west-east       # 1 to 100 visible characters without | : , and +
//	  back: east-west       # the opposite path, for the delay there and back; optional
//	  wait: 3               # periods to wait for a missing report, 1 to 8; optional
//	  points:               # in the order of the packets, two or more
//	  - {switch: leaf1, target: "10.0.0.1:8080", session: web}
//	  - {switch: leaf2, target: "unix:/run/tamtam/gnmi.sock", session: web}
//
// A graph is for packets that take one of several paths:
//
//	graphs:
//	- name: web
//	  wait: 3               # as for a path
//	  points:               # of different switches, in any order
//	  - {switch: leaf1, target: "10.0.0.1:8080", session: web}
//	  - {switch: spine1, target: "10.0.0.3:8080", session: web}
//	  - {switch: leaf2, target: "10.0.0.2:8080", session: web}
//	  links:                # from one point to another
//	  - [leaf1, spine1]
//	  - [spine1, leaf2]
//	  from: [leaf1]         # with to: links are cables, and the shortest paths count; optional. Points on none of
//	  to: [leaf2]           # these should count no packet, and their counts are reported
//	  watched: []           # without from and to: points that should count no packet
type File struct {
	Paths  []Path  `yaml:"paths,omitempty"`
	Graphs []Graph `yaml:"graphs,omitempty"`
}

// Graph is a graph of the file.
type Graph struct {
	Name   string      `yaml:"name"`
	Wait   int         `yaml:"wait,omitempty"`
	Points []Point     `yaml:"points"`
	Links  [][2]string `yaml:"links,flow"`
	From   []string    `yaml:"from,omitempty"`
	To     []string    `yaml:"to,omitempty"`
	// Watched are the points that are on no link.
	Watched []Point `yaml:"watched,omitempty"`
}

// Path is a path of the file.
type Path struct {
	Name   string  `yaml:"name"`
	Back   string  `yaml:"back"`
	Wait   int     `yaml:"wait"`
	Points []Point `yaml:"points"`
}

// Point is a session of a switch.
type Point struct {
	Switch  string `yaml:"switch"`  // name in results
	Target  string `yaml:"target"`  // HOST:PORT of its gNMI server, or unix:/PATH
	Session string `yaml:"session"` // alternate-marking session
}

// Bounds of a file: its size in bytes, and the number of reports of one period that its graphs and paths keep,
// including all clusters.
const (
	maxFile = 16 << 20
	maxKept = 1 << 19
)

// Write writes the file so that [ReadFile] reads the same.
func (f File) Write(w io.Writer) error {
	text, err := yaml.Marshal(f)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// ReadFile reads a file of paths strictly: an unknown field is an error. The error names every
// path and field that is wrong.
func ReadFile(r io.Reader) (File, error) {
	var f File
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return File{}, err
	case len(text) > maxFile:
		return File{}, fmt.Errorf("longer than %d MiB, which is the limit", maxFile>>20)
	}
	if err := whole.Check(text, "wait"); err != nil {
		return File{}, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return File{}, errors.New("the file is empty: want paths or graphs")
		}
		return File{}, err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("more than one document: want one, with paths or graphs")
	}
	return f, f.check()
}

func (f File) check() error {
	if len(f.Paths)+len(f.Graphs) == 0 {
		return errors.New("no paths and no graphs: want one or more")
	}
	names := map[string]Path{}
	errs, kept := f.checkGraphs(names)
	for i, p := range f.Paths {
		kept += len(p.Points)
		what := fmt.Sprintf("path %d (%s)", i+1, p.Name)
		if !ValidName(p.Name) {
			errs = append(errs, fmt.Errorf("path %d: name is %q, want %s", i+1, p.Name, nameWords))
		} else if _, twice := names[p.Name]; twice {
			errs = append(errs, fmt.Errorf("%s: there is another path or graph of that name", what))
		}
		names[p.Name] = p
		errs = append(errs, checkPoints(what, p.Points)...)
		if _, err := marks.NewJoiner(p.join()); err != nil && ValidName(p.Name) {
			errs = append(errs, err)
		}
	}
	for _, p := range f.Paths {
		if p.Back == "" {
			continue
		}
		back, ok := names[p.Back]
		if !ok {
			errs = append(errs, fmt.Errorf("path %s: back is %q, want the name of a path", p.Name, p.Back))
		} else if _, err := marks.NewTwoWay(p.join(), back.join()); err != nil {
			errs = append(errs, err)
		}
	}
	if kept > maxKept {
		errs = append(errs, fmt.Errorf("the graphs and paths keep more than %d reports of a period, with those of all "+
			"clusters: want fewer or smaller ones in a file", maxKept))
	}
	return errors.Join(errs...)
}

// checkGraphs checks the graphs and adds their names to names, since paths must have others. It returns the number of
// reports of a period that the graphs keep, and stops if that exceeds the bound.
func (f File) checkGraphs(names map[string]Path) (errs []error, kept int) {
	for i, g := range f.Graphs {
		if kept > maxKept {
			break
		}
		what := fmt.Sprintf("graph %d (%s)", i+1, g.Name)
		_, twice := names[g.Name]
		switch {
		case !ValidName(g.Name):
			errs = append(errs, fmt.Errorf("graph %d: name is %q, want %s", i+1, g.Name, nameWords))
			continue
		case twice:
			errs = append(errs, fmt.Errorf("%s: there is another graph of that name", what))
		}
		names[g.Name] = Path{}
		errs = append(errs, checkPoints(what, g.all())...)
		if (len(g.From) == 0) != (len(g.To) == 0) {
			errs = append(errs, fmt.Errorf("%s: from %q and to %q: want switches in both, or neither", what, g.From, g.To))
		} else if mesh, err := marks.NewMesh(g.join()); err != nil {
			errs = append(errs, err)
		} else {
			kept += mesh.Kept()
		}
	}
	return errs, kept
}

// Drills returns, by name, the graphs' [marks.Drill], which locates losses.
func (f File) Drills(threshold float64) (map[string]*marks.Drill, error) {
	drills := map[string]*marks.Drill{}
	for _, g := range f.Graphs {
		mesh, err := marks.NewMesh(g.join())
		if err != nil {
			return nil, err
		}
		if drills[g.Name], err = marks.NewDrill(mesh, threshold); err != nil {
			return nil, err
		}
	}
	return drills, nil
}

// Names returns the names of the graphs, in the order of the file.
func (f File) Names() (names []string) {
	for _, g := range f.Graphs {
		names = append(names, g.Name)
	}
	return names
}

// Blame returns the [marks.Blame] of all graphs of a file, which compares their losses.
func (f File) Blame() (*marks.Blame, error) {
	var meshes []*marks.Mesh
	for _, g := range f.Graphs {
		mesh, err := marks.NewMesh(g.join())
		if err != nil {
			return nil, err
		}
		meshes = append(meshes, mesh)
	}
	return marks.NewBlame(meshes...), nil
}

// all returns the points of the graph, the watched ones last.
func (g Graph) all() []Point { return slices.Concat(g.Points, g.Watched) }

// join converts the graph to the collector's type; the settings are still unknown.
func (g Graph) join() marks.Graph {
	out := marks.Graph{Name: g.Name, Wait: g.Wait}
	for _, l := range g.Links {
		out.Links = append(out.Links, marks.Link{From: l[0], To: l[1]})
	}
	if len(g.From) > 0 {
		out.Links = marks.ShortestPaths(out.Links, g.From, g.To)
	}
	passed := map[string]bool{}
	for _, l := range out.Links {
		passed[l.From], passed[l.To] = true, true
	}
	for _, p := range g.Points {
		point := marks.Point{Switch: p.Switch, Session: p.Session}
		if passed[p.Switch] || len(g.From) == 0 {
			out.Points = append(out.Points, point)
		} else {
			out.Watched = append(out.Watched, point)
		}
	}
	for _, p := range g.Watched {
		out.Watched = append(out.Watched, marks.Point{Switch: p.Switch, Session: p.Session})
	}
	return out
}

// checkPoints checks the points of a path or graph. Two points must not be the same session of one switch: they would
// always agree, and never show a loss.
func checkPoints(what string, points []Point) (errs []error) {
	of := map[[2]string]string{}
	for j, p := range points {
		at := fmt.Sprintf("%s: point %d", what, j+1)
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", at, err))
		}
		session := [2]string{p.Target, p.Session}
		if other, twice := of[session]; twice && other != p.Switch {
			errs = append(errs, fmt.Errorf("%s: switch %s has target %s and session %s, and so has switch %s: want the session "+
				"of another switch", at, p.Switch, p.Target, p.Session, other))
		}
		of[session] = p.Switch
	}
	return errs
}

func (p Point) check() error {
	var errs []error
	if !ValidName(p.Switch) {
		errs = append(errs, fmt.Errorf("switch is %q, want %s", p.Switch, nameWords))
	}
	if p.Session == "" {
		errs = append(errs, errors.New(`session is "", want the name of a session of alternate marking`))
	}
	if err := CheckTarget(p.Target); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckTarget returns an error if the text cannot be the address of a gNMI server.
func CheckTarget(target string) error {
	if socket, ok := strings.CutPrefix(target, "unix:"); !ok || socket == "" {
		if _, _, err := net.SplitHostPort(target); err != nil {
			return fmt.Errorf("target is %q, want HOST:PORT or unix:/PATH", target)
		}
	}
	return nil
}

const nameWords = "1 to 100 visible ASCII characters without | : , and +"

// ValidName reports whether s can be part of the key of a result.
func ValidName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("|:,+", r)
	})
}

// join converts the path to the collector's type; the settings are still unknown.
func (p Path) join() marks.Path {
	out := marks.Path{Name: p.Name, Wait: p.Wait}
	for _, point := range p.Points {
		out.Points = append(out.Points,
			marks.Point{Switch: point.Switch, Session: point.Session, Settings: altmark.Session{}})
	}
	return out
}
