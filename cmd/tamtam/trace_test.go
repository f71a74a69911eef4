package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/internal/command"
)

// Errors in a packet to be traced are reported before any server is contacted.
func TestTraceRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.pcap")
	w, err := capture.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{60, 1500} {
		if err := w.Write(time.Unix(1, 0), make([]byte, 60), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	at := "Ethernet0 --pcap " + file
	try(t, "trace",
		line{"", command.ExitUsage, "arg"},
		line{"Ethernet0 ttl 1 --pcap " + file, command.ExitUsage, "want only the port"},
		line{at + " --packet 0", command.ExitUsage, "want 1 or more"},
		line{at + " --packet 3", command.ExitFailed, "has no packet 3"},
		line{at + " --packet 2", command.ExitFailed, "was cut to 60 bytes of 1500"},
		line{at + " --target 127.0.0.1:1 --insecure", command.ExitFailed, "No answer from the gNMI server"})
	if code, printed := tamtam(t, "trace", "Ethernet0", "src", "10.0.0.1 | count"); code != command.ExitUsage ||
		!strings.Contains(printed, "want a port, and fields") {
		t.Errorf("a field with a pipe: exit %d, %s", code, printed)
	}
}
