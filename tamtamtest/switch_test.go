package tamtamtest_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/tamtamtest"
)

// The example in the documentation works.
func TestExample(t *testing.T) { framesAreStamped(t) }

func TestFramesGoThrough(t *testing.T) {
	sw := tamtamtest.Start(t, oneVLAN)
	sw.Send("Ethernet0", frame, frame)
	sw.Advance(time.Millisecond)
	got := sw.Left("Ethernet1")
	if len(got) != 2 || !bytes.Equal(got[0], frame) || !bytes.Equal(got[1], frame) {
		t.Errorf("left Ethernet1: %x, want the frame twice", got)
	}
	for _, port := range []string{"Ethernet0", "Ethernet1", "Ethernet2", tamtamtest.CPU} {
		if got := sw.Left(port); len(got) != 0 {
			t.Errorf("left %s: %x, want nothing more", port, got)
		}
	}
	sw.Poll()
	oid := sw.Row(swss.CountersDB, "COUNTERS_PORT_NAME_MAP")["Ethernet1"]
	if got := sw.Row(swss.CountersDB, "COUNTERS:"+oid)["SAI_PORT_STAT_IF_OUT_UCAST_PKTS"]; got != "2" {
		t.Errorf("COUNTERS_DB has %q packets sent by Ethernet1, want 2", got)
	}
}

func TestRowsComeAndGo(t *testing.T) {
	sw := tamtamtest.Start(t)
	if p := sw.Problems(); len(p) != 0 {
		t.Fatalf("a switch as it starts has problems: %v", p)
	}
	sw.Set("TAM_TAILSTAMPING_TABLE|sla", "flowgroup", "web")
	p := sw.Problems()
	if len(p) != 1 || p[0].Object != "TAM_TAILSTAMPING_TABLE|sla" || p[0].Reason == "" {
		t.Errorf("problems %v, want one of the session, and why", p)
	}
	sw.Delete("TAM_TAILSTAMPING_TABLE|sla")
	if p := sw.Problems(); len(p) != 0 {
		t.Errorf("problems %v of a row that is deleted", p)
	}
}

func TestShell(t *testing.T) {
	sw := tamtamtest.Start(t)
	sw.CLI("configure terminal", "interface Vlan 10", "end")
	if sw.Row(swss.ConfigDB, "VLAN|Vlan10") == nil {
		t.Error("the VLAN is not in CONFIG_DB")
	}
	if out := sw.CLI("show running-configuration"); !strings.Contains(out, "Vlan 10") {
		t.Errorf("the running configuration has no VLAN:\n%s", out)
	}
}

func TestARestartKeepsTheFrames(t *testing.T) {
	sw := tamtamtest.Start(t, oneVLAN)
	if err := sw.Sim().RestartSyncd(t.Context()); err != nil {
		t.Fatal(err)
	}
	sw.Send("Ethernet0", frame)
	sw.Advance(time.Millisecond)
	if got := sw.Left("Ethernet1"); len(got) != 1 {
		t.Errorf("%d frames left the new chip, want 1", len(got))
	}
}

// A witness is the testing.TB of a test that is expected to fail.
type witness struct {
	testing.TB
	failure string
}

func (w *witness) Fatal(args ...any)                 { w.failure = fmt.Sprint(args...); runtime.Goexit() }
func (w *witness) Fatalf(format string, args ...any) { w.Fatal(fmt.Sprintf(format, args...)) }

// A call that fails ends the test, and names the fault.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		do         func(t testing.TB)
	}{
		{"no such port", "no port Ethernet8", func(t testing.TB) { tamtamtest.Start(t).Send("Ethernet8", frame) }},
		{"no value", "field vlanid has no value", func(t testing.TB) { tamtamtest.Start(t).Set("VLAN|Vlan10", "vlanid") }},
		{"no such row", "VLAN|Vlan10", func(t testing.TB) { tamtamtest.Start(t).Delete("VLAN|Vlan10") }},
		{"no JSON", "config_db.json: line 1", func(t testing.TB) { tamtamtest.Start(t, "{") }},
		{"no such command", "show nothing", func(t testing.TB) { tamtamtest.Start(t).CLI("show nothing") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, done := &witness{TB: t}, make(chan struct{})
			go func() {
				defer close(done)
				tt.do(w)
			}()
			<-done
			if !strings.Contains(w.failure, tt.want) {
				t.Errorf("the test ended with %q, want %q in it", w.failure, tt.want)
			}
		})
	}
}
