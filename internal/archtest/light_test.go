package archtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// heavy are modules that only the fleet's collector may link: they take longer to compile than tamtam's own code.
var heavy = []string{natsServer, natsClient, parquetgo}

// tamtam is built by everybody, so it stays light: what is heavy stands behind a second program.
func TestTamtamIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/tamtam").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"/cli") {
		t.Fatalf("go list found %d packages, and not the shell", len(packages))
	}
	for _, p := range packages {
		for _, m := range heavy {
			if within(p, m) {
				t.Errorf("cmd/tamtam links %s", p)
			}
		}
	}
}
