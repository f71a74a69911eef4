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

// A test beside others that stand inside their package has all that links this package compiled once more, with them in
// it; for a switch that takes longest. Only test kits are small enough; tests of the whole stand in device.
func TestTestsAreLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-test", "-deps", "-f",
		`{{with .ForTest}}{{$.ImportPath}} {{.}}{{end}}`, module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	tests := 0
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line) // a package, [whose tests it is compiled for], and these again
		compiled, tested := words[0], words[len(words)-1]
		switch {
		case compiled == tested || compiled == tested+"_test":
			tests++
		case !isTestKit(compiled):
			t.Errorf("%s is compiled once more for the tests of %s: those that link it should stand in device", compiled, tested)
		}
	}
	if tests < 100 {
		t.Errorf("go list found %d tests only", tests)
	}
}
