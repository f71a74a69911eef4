package device

import (
	"os"
	"path/filepath"
	"testing"
)

// A switch is found while it runs. What a killed one leaves behind is not taken for a switch.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	if l, ok := FindLocal(dir); ok {
		t.Errorf("an empty directory has %+v", l)
	}
	want := Local{PID: 7, Redis: "127.0.0.1:5", Embedded: true, GNMI: "127.0.0.1:6"}
	claim := func() *DataClaim {
		t.Helper()
		c, err := ClaimData(dir)
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := FindLocal(dir); ok {
			t.Errorf("it has not started, and is %+v", l)
		}
		if err := c.Publish(want); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := claim()
	if l, ok := FindLocal(dir); !ok || l != want {
		t.Errorf("%+v, %v; want %+v", l, ok, want)
	}
	if _, err := ClaimData(dir); err == nil {
		t.Error("two switches have one data directory")
	}
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	if l, ok := FindLocal(dir); ok {
		t.Errorf("it has ended, and is %+v", l)
	}
	// A killed process leaves the file without its lock. The next switch replaces it.
	killed := []byte(`{"pid":1,"redis":"127.0.0.1:1","longer":"` + dir + dir + `"}`)
	if err := os.WriteFile(filepath.Join(dir, "up.json"), killed, 0o644); err != nil {
		t.Fatal(err)
	}
	if l, ok := FindLocal(dir); ok {
		t.Errorf("its process was killed, and it is %+v", l)
	}
	second := claim()
	if l, ok := FindLocal(dir); !ok || l != want {
		t.Errorf("%+v, %v; want %+v", l, ok, want)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
