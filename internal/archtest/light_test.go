package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are modules that only the fleet's collector may link: they take longer to compile than tamtam's own code.
var heavy = []string{natsServer, natsClient, parquetgo}

// heavyMain is the one program that links them.
const heavyMain = module + "/cmd/tamtam-collectd"

// tamtam is built by everybody, so it stays light, and so do all programs but one.
func TestOneProgramIsHeavy(t *testing.T) {
	out, err := exec.Command("go", "list", "-f",
		`{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 0 {
			programs[words[0]] = words[1:]
		}
	}
	if !slices.Contains(programs[module+"/cmd/tamtam"], module+"/cli") {
		t.Fatalf("go list found %d programs, and not tamtam with its shell", len(programs))
	}
	for program, packages := range programs {
		for _, m := range heavy {
			links := slices.ContainsFunc(packages, func(p string) bool { return within(p, m) })
			if links != (program == heavyMain) {
				t.Errorf("%s links %s: %v, and only %s is to", program, m, links, heavyMain)
			}
		}
	}
}
