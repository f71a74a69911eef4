package dial

import (
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
	if err != nil || len(f.Paths) != 2 || f.Paths[0].Wait != 2 || f.Paths[1].Points[0] != (Point{"b", "10.0.0.2:8080", "s2"}) {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := ReadFile(strings.NewReader(`{"paths": [{"name": "p", "points": [
		{"switch": "a", "target": "unix:/run/a", "session": "s"}, {"switch": "b", "target": "[::1]:8080", "session": "s"}]}]}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{twoPaths, "", "the file is empty: want paths"},
		{twoPaths, "paths: []", "no paths"},
		{"wait: 2", "weight: 2", "field weight not found"},
		{"wait: 2", "wait: 9", "path there: wait is 9, want 1 to 8 periods"},
		{"back: back", "back: bck", `path there: back is "bck", want the name of a path`},
		{"back: back", "back: there", "paths there and there are not opposite"},
		{"name: back", "name: there", "path 2 (there): there is another path of that name"},
		{"name: back", "name: a+b", `path 2: name is "a+b", want 1 to 100 visible ASCII characters`},
		{"switch: a,", "switch: b,", "path there: switch b is twice on it"},
		{"10.0.0.1:8080", "10.0.0.1", `path 1 (there): point 1: target is "10.0.0.1", want HOST:PORT or unix:/PATH`},
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

func FuzzReadFile(f *testing.F) {
	f.Add(twoPaths)
	f.Add("paths: [{name: p, points: [&a {switch: x}, *a]}]")
	f.Fuzz(func(t *testing.T, s string) {
		if file, err := ReadFile(strings.NewReader(s)); err == nil && len(file.Paths) == 0 {
			t.Errorf("%q has no paths", s)
		}
	})
}

// Options that contradict each other are refused before anything is sent.
func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"insecure means no TLS":           {Insecure: true, CAFile: "ca.pem"},
		"skip-verify believes any server": {SkipVerify: true, CAFile: "ca.pem"},
		"tls-cert and tls-key":            {CertFile: "c.pem"},
		"a password needs a user":         {Password: "p"},
		"open /nonexistent/ca.pem":        {CAFile: "/nonexistent/ca.pem"},
		"open /nonexistent/c.pem":         {CertFile: "/nonexistent/c.pem", KeyFile: "/nonexistent/k.pem"},
		"file.go: no PEM certificate in":  {CAFile: "file.go"},
	} {
		if _, err := o.credentials(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}
