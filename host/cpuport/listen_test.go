package cpuport

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder of the socket is created, for this user only, because it controls access.
func TestListenCreatesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	l, err := Listen(filepath.Join(dir, "cpu.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
