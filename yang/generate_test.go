package yang

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGenerated: the Go in tamyang is what ygot makes of the modules as they
// are.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds ygot's generator")
	}
	made := filepath.Join(t.TempDir(), "made.go")
	if out, err := exec.Command("./generate.sh", made).CombinedOutput(); err != nil {
		t.Fatalf("generate.sh: %v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("tamyang/zz_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tamyang is not what the modules say: run go generate ./yang")
	}
}
