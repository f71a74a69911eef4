package yang

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGenerated: the Go in tamyang is what ygot makes of the modules as they
// are.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds ygot's generator")
	}
	const output = "tamyang/zz_generated.go"
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(doc), "//go:generate ")
	if !ok {
		t.Fatal("doc.go has no go:generate line")
	}
	line, _, _ = strings.Cut(line, "\n")
	args := strings.Fields(line)
	made := filepath.Join(t.TempDir(), "made.go")
	i := slices.Index(args, "-output_file="+output)
	if i < 0 {
		t.Fatalf("go:generate does not write %s", output)
	}
	args[i] = "-output_file=" + made
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("tamyang is not what the modules say: run go generate ./yang")
	}
}
