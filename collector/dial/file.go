package dial

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/collector"
	"tamtam/tam/altmark"
)

// A File names the paths to measure. It is YAML, and so may also be JSON:
//
//	paths:
//	- name: west-east       # 1 to 100 visible characters without | : , and +
//	  back: east-west       # the opposite path, for the delay there and back; optional
//	  wait: 3               # periods to wait for a missing report, 1 to 8; optional
//	  points:               # in the order of the packets, two or more
//	  - {switch: leaf1, target: "10.0.0.1:8080", session: web}
//	  - {switch: leaf2, target: "unix:/run/tamtam/gnmi.sock", session: web}
type File struct {
	Paths []Path `yaml:"paths"`
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
	Switch  string `yaml:"switch"`  // how results name it
	Target  string `yaml:"target"`  // HOST:PORT of its gNMI server, or unix:/PATH
	Session string `yaml:"session"` // of its alternate marking
}

// maxFile bounds a file of paths, in bytes.
const maxFile = 16 << 20

// ReadFile reads a file of paths strictly: an unknown field is an error. The error names every
// path and field that is wrong.
func ReadFile(r io.Reader) (File, error) {
	var f File
	dec := yaml.NewDecoder(io.LimitReader(r, maxFile))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return File{}, errors.New("the file is empty: want paths")
		}
		return File{}, err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("more than one document: want one, with paths")
	}
	return f, f.check()
}

func (f File) check() error {
	if len(f.Paths) == 0 {
		return errors.New("no paths: want one or more")
	}
	var errs []error
	names := map[string]Path{}
	for i, p := range f.Paths {
		what := fmt.Sprintf("path %d (%s)", i+1, p.Name)
		if !validName(p.Name) {
			errs = append(errs, fmt.Errorf("path %d: name is %q, want %s", i+1, p.Name, nameWords))
		} else if _, twice := names[p.Name]; twice {
			errs = append(errs, fmt.Errorf("%s: there is another path of that name", what))
		}
		names[p.Name] = p
		for j, point := range p.Points {
			if err := point.check(); err != nil {
				errs = append(errs, fmt.Errorf("%s: point %d: %w", what, j+1, err))
			}
		}
		if _, err := collector.NewAltMark(p.join()); err != nil && validName(p.Name) {
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
		} else if _, err := collector.NewAltMarkTwoWay(p.join(), back.join()); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (p Point) check() error {
	var errs []error
	if !validName(p.Switch) {
		errs = append(errs, fmt.Errorf("switch is %q, want %s", p.Switch, nameWords))
	}
	if p.Session == "" {
		errs = append(errs, errors.New(`session is "", want the name of a session of alternate marking`))
	}
	if socket, ok := strings.CutPrefix(p.Target, "unix:"); !ok || socket == "" {
		if _, _, err := net.SplitHostPort(p.Target); err != nil {
			errs = append(errs, fmt.Errorf("target is %q, want HOST:PORT or unix:/PATH", p.Target))
		}
	}
	return errors.Join(errs...)
}

const nameWords = "1 to 100 visible ASCII characters without | : , and +"

// validName reports whether s can be part of the key of a result.
func validName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("|:,+", r)
	})
}

// join converts the path to the collector's type; no settings are known yet.
func (p Path) join() collector.AltMarkPath {
	out := collector.AltMarkPath{Name: p.Name, Wait: p.Wait}
	for _, point := range p.Points {
		out.Points = append(out.Points,
			collector.AltMarkPoint{Switch: point.Switch, Session: point.Session, Settings: altmark.Session{}})
	}
	return out
}
