package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tamtam/device/fault"
	"tamtam/internal/command"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// faultController runs the fault desk of a syncd that accepts faults, until the test ends.
func faultController(t *testing.T, r *swss.Redis) *fault.Controller {
	controller := fault.NewController("syncd", r, true, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for fault.Check(t.Context(), r) != nil {
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return controller
}

// Every fault has its command, which prints the faults in force, and until when.
func TestFaultCommands(t *testing.T) {
	r := swsstest.Start(t)
	controller := faultController(t, r)
	if err := controller.Drive(noClock{}); err != nil {
		t.Fatal(err)
	}
	do := func(line string) (int, string) {
		return tamtam(t, append([]string{"fault", "--redis", r.Addr()}, strings.Fields(line)...)...)
	}
	for _, tt := range []struct{ line, want string }{
		{"list", "no faults; daemons that accept them: syncd"},
		{
			"sai fail --op create --type acl-entry --status TABLE_FULL --count 3 --every 2",
			"SAI create of SAI_OBJECT_TYPE_ACL_ENTRY: SAI_STATUS_TABLE_FULL, every 2",
		},
		{"sai delay 200ms --for 10s", "SAI calls: 200ms late"},
		{"notifications lose --at syncd --of fdb_event", `notifications "fdb_event" are lost`},
		{"notifications double --count 1", "notifications come twice"},
		{"redis slow 10ms --for 20s", "Redis answers up to 10ms late"},
		{"clock step -2s --of host --for 5s", "the clock of the host is set by -2s"},
		{"clock step +1.5s", "the clock of the chip is set by +1.5s"},
		{"list", "Daemon  ID  Until"},
		{"redis pause --for 1ms", "Redis is paused"},
		{"redis empty COUNTERS_DB", "done at syncd: COUNTERS_DB was emptied"},
		{"redis full --for 10s --at syncd --timeout 20s", "Redis is full"},
	} {
		if code, printed := do(tt.line); code != 0 || !strings.Contains(printed, tt.want) {
			t.Errorf("%s: exit %d: %s, want %s", tt.line, code, printed, tt.want)
		}
	}
	do("clear")
	if code, printed := do("clear"); code != 0 || printed != "syncd: 0 faults ended\n" {
		t.Errorf("clear again: exit %d: %s", code, printed)
	}
	code, printed := do("list --json")
	var list struct {
		Takers []string
		Faults []struct {
			Fields      map[string]string
			From, Until time.Time
			Over        string
		}
	}
	if err := json.Unmarshal([]byte(printed), &list); err != nil || code != 0 || len(list.Faults) == 0 ||
		list.Takers[0] != "syncd" {
		t.Errorf("exit %d, %v: %s", code, err, printed)
	}
	for _, n := range list.Faults {
		if n.Over == "" || n.Fields["kind"] == "" || n.Until.Before(n.From) {
			t.Errorf("%+v", n)
		}
	}
}

// noClock is a clock that is never read.
type noClock struct{}

func (noClock) StepClock(time.Duration) error { return nil }
func (noClock) SetClockSynchronised(bool)     {}

// An invalid request is a mistake in the command line (exit code 2). A request that the daemon does not accept is
// refused with a message (exit code 1).
func TestFaultCommandsRefused(t *testing.T) {
	r := swsstest.Start(t)
	at := " --redis " + r.Addr()
	try(t, "",
		line{"fault" + at, command.ExitUsage, "want a fault:"},
		line{"fault sai" + at, command.ExitUsage, "sai: want fail|delay"},
		line{"fault sai fail --op explode" + at, command.ExitUsage, `op "explode", want one of any, create`},
		line{"fault sai fail --for 2h" + at, command.ExitUsage, `for "2h", want a time from 1ms to 1h`},
		line{"fault sai delay" + at, command.ExitUsage, "accepts 1 arg(s)"},
		line{"fault sai delay long" + at, command.ExitUsage, `delay "long", want a time`},
		line{"fault redis pause --for 2m" + at, command.ExitUsage, "want a time from 1ms to 1m0s"},
		line{"fault redis empty MY_DB" + at, command.ExitUsage, `db "MY_DB", want one of [CONFIG_DB`},
		line{"fault clock step" + at, command.ExitUsage, "want one time with its sign"},
		line{"fault clock step 2s" + at, command.ExitUsage, "want one time with its sign"},
		line{"fault clock step -2s --of mars" + at, command.ExitUsage, "want chip or host"},
		line{"fault clock step -2s --frob" + at, command.ExitUsage, "unknown flag"},
		line{"fault list --timeout 0s" + at, command.ExitUsage, "want more than 0"},
		line{"fault list --redis nowhere", command.ExitUsage, "nowhere"},
		line{"fault list --redis 127.0.0.1:1", command.ExitFailed, "Redis does not answer"},
		line{"fault list" + at, command.ExitFailed, "syncd, orchagent, tammgrd, mgmtd: nothing was heard for 5 s"},
		line{"fault clear" + at, command.ExitFailed, "refused: no daemon injects this fault"},
		line{"fault sai fail" + at, command.ExitFailed, "(syncd: nothing was heard for 5 s)"},
		line{"fault redis full --at mgmtd" + at, command.ExitFailed, "(mgmtd: nothing was heard for 5 s)"})
	if code, printed := tamtam(t, "fault", "clock", "step", "--help"); code != 0 ||
		!strings.Contains(printed, "--of string") {
		t.Errorf("exit %d: %s", code, printed)
	}
}

// Nothing happens after the end of a run. So commands that would watch for ever are refused at the start.
func TestAskWatch(t *testing.T) {
	for _, ask := range []string{"show drops watch", "show drops by rule watch 1s", "write memory"} {
		if code, out := tamtam(t, "sim", "--config", "none.json", "--in", "Ethernet0=none.pcap", "--out", t.TempDir(),
			"--ask", ask); code != 2 || !strings.Contains(out, "--ask") {
			t.Errorf("%s: %d, %s", ask, code, out)
		}
	}
}
