package devicetest

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tamtam/cli"
	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/packettrace"
	"tamtam/internal/racetest"
	"tamtam/mgmt"
	"tamtam/sai"
	"tamtam/sai/redis/sairedistest"
	"tamtam/sai/saitest"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// NewSim starts a switch that only the test steps.
func NewSim(t *testing.T, cfg device.SimConfig) *device.Sim {
	t.Helper()
	racetest.Stepped(t)
	return NewServedSim(t, cfg)
}

// NewServedSim starts a switch in simulated time for a test with other goroutines, such as a server that reads its
// databases.
func NewServedSim(t *testing.T, cfg device.SimConfig) *device.Sim {
	t.Helper()
	if cfg.Profile.ClockHz == 0 {
		cfg.Profile = profile.Small()
	}
	s, err := device.NewSim(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// NoError ends the test if err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Row returns a row of a database; nil if there is none.
func Row(t testing.TB, r *swss.Redis, db swss.DBName, table, key string) swss.FieldValues {
	t.Helper()
	row, _, err := swss.NewTable(r.DB(db), table).Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// RunUntilIdle steps the daemons until no daemon has work left.
func RunUntilIdle(t *testing.T, s *device.Sim) {
	t.Helper()
	NoError(t, s.RunUntilIdle(t.Context()))
}

// Drain advances until the chip is empty, then polls all counters.
func Drain(t *testing.T, s *device.Sim) {
	t.Helper()
	for at, ok := s.Chip.NextEvent(); ok; at, ok = s.Chip.NextEvent() {
		NoError(t, s.Advance(t.Context(), at))
	}
	NoError(t, s.Poll(t.Context()))
}

// View returns the ASIC as text, in an order and with names that depend only on its contents.
func View(t *testing.T, s *device.Sim) string {
	t.Helper()
	return ViewOf(t, s.Redis)
}

// ViewOf returns the ASIC of the switch with these databases, as [View] does.
func ViewOf(t *testing.T, r *swss.Redis) string {
	t.Helper()
	m := &marksAlike{lanes: map[int]string{}}
	if _, err := sairedistest.CanonicalView(t.Context(), r, m.see); err != nil {
		t.Fatal(err)
	}
	v, err := sairedistest.CanonicalView(t.Context(), r, m.replace)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Metadata is the table DEVICE_METADATA of the switches.
var Metadata = map[string]swss.FieldValues{"localhost": {"mac": "02:00:00:00:07:e4"}}

// RecordTo puts a recorder between syncd and the chip. A restart of syncd creates another one.
func RecordTo(rec **saitest.Recorder) daemons.Common {
	return daemons.Common{Backend: func(chip sai.API) sai.API {
		*rec = saitest.NewRecorder(chip)
		return *rec
	}}
}

// Changes returns those of the recorded calls that changed the ASIC. Extension objects that are created and removed
// again are register reads by orchs, and do not count.
func Changes(lines []string) (calls []string) {
	gone := map[string]bool{}
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l, "r|"); ok {
			gone[id] = true
		}
	}
	for i, l := range lines {
		op, rest, _ := strings.Cut(l, "|")
		id, _, _ := strings.Cut(rest, "|")
		window := strings.Contains(id, "GENERIC_PROGRAMMABLE") && gone[id] &&
			slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "c|"+id+"|") })
		refused := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "E|")
		if strings.Contains("crsCRS", op) && !refused && !window {
			calls = append(calls, l)
		}
	}
	return calls
}

// StartNorthbound starts mgmtd on the switch's databases and returns it with a shell.
func StartNorthbound(t *testing.T, s *device.Sim) (*mgmt.Server, *cli.Shell, *bytes.Buffer) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "mgmt.sock")
	server, err := mgmt.NewServer(mgmt.Config{Redis: s.Redis, Socket: socket, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	var out bytes.Buffer
	shell, err := cli.New(cli.Config{Target: "unix:" + socket, Out: &out, Err: &out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shell.Close()
		stop()
		<-done
	})
	return server, shell, &out
}

// StartShows makes a switch answer lines of the shell. The function returns the output, or the error. For a line that
// ends in "?" it returns what may follow.
func StartShows(t *testing.T, s *device.Sim) func(line string) string {
	t.Helper()
	_, shell, out := StartNorthbound(t, s)
	stop, err := packettrace.Start(t.Context(), s.Redis, s.Chip, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return func(line string) string {
		t.Helper()
		out.Reset()
		if before, ok := strings.CutSuffix(line, "?"); ok {
			shell.Help(t.Context(), before)
		} else if err := shell.Exec(t.Context(), line); err != nil {
			return err.Error()
		}
		return out.String()
	}
}
