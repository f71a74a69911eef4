package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/internal/command"
	"tamtam/swss"
)

// Each form of a startup configuration configures a switch. The switch ends cleanly on SIGTERM. The next switch has the
// kept configuration, whatever startup configuration it is given.
func TestUpStartsAndEnds(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"config_db.json": `{"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000", "description": "to spine"}}}`,
		"OpenConfig": `{"openconfig-interfaces:interfaces": {"interface": [{"name": "Ethernet0", "config": {"name": ` +
			`"Ethernet0", "description": "to spine"}}]}}`,
		"script": "configure terminal\ninterface Ethernet0\n description \"to spine\"\n",
	}
	if testing.Short() { // all forms have the same concurrency
		forms = map[string]string{"script": forms["script"]}
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, text)
			r := s.begin()
			if got := description(t, r); got != "to spine" {
				t.Errorf("the port's description is %q", got)
			}
			s.healthy()
			row := map[string]string{"description": "to leaf"}
			if err := swss.NewTable(r.DB(swss.ConfigDB), "PORT").Set(t.Context(), "Ethernet0", row); err != nil {
				t.Fatal(err)
			}
			s.end(r)
			r = s.begin()
			if got := description(t, r); got != "to leaf" {
				t.Errorf("after a restart the port's description is %q", got)
			}
			s.end(r)
		})
	}
}

// A saved configuration survives kill -9. It is in the file that the switch was started with or, if that has another
// form, in the data directory. Changes that were not saved are lost.
func TestSavedOutlivesAKill(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"config_db.json": `{"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000", "description": "to spine"}}}`,
		"script":         "configure terminal\ninterface Ethernet0\n description \"to spine\"\n",
	}
	if testing.Short() { // all forms have the same concurrency
		forms = map[string]string{"script": forms["script"]}
	}
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, text)
			s.args = slices.DeleteFunc(s.args, func(a string) bool { return a == "--keep" })
			r := s.begin()
			s.shell("configure", "interface Ethernet0", "description saved", "mirror-session m src-ip 10.0.0.1 dst-ip 10.0.0.2")
			want := s.shell("show running-configuration")
			s.shell("write memory", "configure", "interface Ethernet0", "description unsaved")
			r.Close()
			s.process.kill()
			r = s.begin()
			if got := description(t, r); got != "saved" {
				t.Errorf("after kill -9 the port's description is %q", got)
			}
			if got := s.shell("show running-configuration"); got != want {
				t.Errorf("after kill -9 the configuration is\n%s\nwant\n%s", got, want)
			}
			if got := s.shell("show configuration diff"); got != "" {
				t.Errorf("it differs from what was saved:\n%s", got)
			}
			s.end(r)
		})
	}
}

// shell runs commands and returns what they print.
func (s *solo) shell(lines ...string) string {
	s.Helper()
	args := []string{"cli", "--target", "unix:" + device.SocketPath(s.dir), "--timeout", "1m"}
	for _, l := range lines {
		args = append(args, "-c", l)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asTamtam+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("%v: %v", lines, err)
	}
	return string(out)
}

// Errors in a startup configuration are reported with their place, and nothing runs.
func TestUpRefusesAStartupConfiguration(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"config_db.json", "{\"PORT\": {\n", "startup: line 2: unexpected end of JSON input"},
		{"OpenConfig",
			`{"openconfig-tam:tam": {"samplers": {"sampler": [{"name": "a", "config": {"name": "a", "sampling-rate": 0}}]}}}`,
			`/tam/samplers/sampler[name=a]/config/sampling-rate: "0" is no number in 1..16777216`},
		{"script", "configure terminal\ninterface Ethernet0\n describe\n", "startup:3: %Error: "},
		{"more ports than there are", `{"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000"}}}`,
			"2 ports are to be wired to eth1 to eth2, and 1 are configured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSolo(t, tt.text)
			p := startProcess(t, append(s.args, "--ports", "2")...)
			err := p.wait()
			if p.cmd.ProcessState.ExitCode() != command.ExitFailed || !strings.Contains(p.log.String(), tt.want) {
				t.Errorf("%v, and said %s; want exit code 1 and %q", err, p.log.String(), tt.want)
			}
			if _, err := os.Stat(filepath.Join(s.dir, keptFile)); err == nil {
				t.Error("what was refused was kept")
			}
		})
	}
}

// wait waits until the process ends by itself. After a minute it ends the process, whose log then has the stacks of its
// goroutines.
func (p *process) wait() error {
	timer := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	return p.cmd.Wait()
}

// A solo is a switch in one process.
type solo struct {
	*testing.T
	dir, socket string
	args        []string
	process     *process
}

func newSolo(t *testing.T, startup string) *solo {
	dir := t.TempDir()
	s := &solo{T: t, dir: dir, socket: filepath.Join(dir, "r")}
	if len(s.socket) > 100 {
		t.Skipf("%s is too long for a socket's name", s.socket)
	}
	file := filepath.Join(dir, "startup")
	if err := os.WriteFile(file, []byte(startup), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{"up", "--config", file, "--keep", "--data", dir, "--redis", "embedded:" + s.socket, "--gnmi",
		"127.0.0.1:0"}
	return s
}

// begin starts the switch and waits until it is ready.
func (s *solo) begin() *swss.Redis {
	s.Helper()
	s.process = startProcess(s.T, s.args...)
	cfg, err := swss.DefaultConfig("unix:" + s.socket)
	if err != nil {
		s.Fatal(err)
	}
	q := daemons.Question{Redis: cfg, GNMI: "unix:" + device.SocketPath(s.dir), Timeout: time.Second}
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := daemons.HealthOf(s.Context(), q, append(daemons.Daemons(), "redis"))
		if err == nil {
			r := swss.Look(cfg)
			s.Cleanup(func() { r.Close() })
			return r
		}
		if time.Now().After(deadline) {
			s.Fatalf("not ready within a minute: %v\n%s", err, s.process.log.String())
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.Context().Done():
		}
	}
}

// healthy checks that health finds the switch by its data directory alone.
func (s *solo) healthy() {
	s.Helper()
	var got string
	for deadline := time.Now().Add(time.Minute); got != "ok" && time.Now().Before(deadline); {
		cmd := exec.CommandContext(s.Context(), os.Args[0], "health", "--data", s.dir)
		cmd.Env = append(os.Environ(), asTamtam+"=1")
		out, _ := cmd.CombinedOutput()
		got = strings.TrimSpace(string(out))
	}
	if got != "ok" {
		s.Errorf("health --data: %q for a minute, want ok", got)
	}
}

// end ends the switch as a supervisor does.
func (s *solo) end(r *swss.Redis) {
	s.Helper()
	r.Close()
	if err := s.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	if err := s.process.wait(); err != nil {
		s.Errorf("after SIGTERM: %v\n%s", err, s.process.log.String())
	}
}

func description(t *testing.T, r *swss.Redis) string {
	row, _, err := swss.NewTable(r.DB(swss.ConfigDB), "PORT").Get(t.Context(), "Ethernet0")
	if err != nil {
		t.Error(fmt.Errorf("Ethernet0: %w", err))
	}
	return row["description"]
}

// The doctor and health find a switch by its data directory, and all is well with it. After its end they do not.
func TestDoctorFindsTheSwitch(t *testing.T) {
	t.Parallel()
	s := newSolo(t, `{"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:00:01"}},
		"PORT": {"Ethernet0": {"lanes": "1,2,3,4", "speed": "100000"}}}`)
	r := s.begin()
	var printed string
	code := -1
	for deadline := time.Now().Add(time.Minute); code != 0 && time.Now().Before(deadline); { // the first comparisons end
		code, printed = tamtam(t, "doctor", "--strict", "--timeout", "10s", "--data", s.dir)
	}
	if code != 0 || !strings.Contains(printed, " ok, 0 warnings, 0 failed, 0 not known\n") {
		t.Errorf("exit %d:\n%s", code, printed)
	}
	try(t, "health", line{"--timeout 10s --data " + s.dir, 0, "ok"})
	try(t, "cli", line{"--data " + s.dir + " -c help", 0, "show"})
	s.end(r)
	if _, found := device.FindLocal(s.dir); found {
		t.Error("it has ended, and is found")
	}
	try(t, "cli", line{"--data " + t.TempDir() + " -c exit", command.ExitFailed, "no switch runs there"})
}
