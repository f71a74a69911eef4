// Package tamtamtest starts a whole switch for a test, in one line: Redis, the managers, the orchs, syncd and the
// chip, in simulated time. So a test neither sleeps nor depends on the machine. The test configures it like any
// switch, by rows of CONFIG_DB or lines of the CLI, and sends frames into its ports. It reads the frames that left
// the ports, and the databases.
//
// It works in this tree, and in another module by a line in its go.mod:
//
//	replace tamtam => ../tamtam
//
// What belongs here: functions that nearly every test of a switch needs. For everything else there is [Switch.Sim].
package tamtamtest

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/cli"
	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// CPU is the name of the port by which the switch sends frames to its CPU.
const CPU = "CPU"

// A Switch is a switch in simulated time. Methods end the test if they fail.
type Switch struct {
	t    testing.TB
	sim  *device.Sim
	left map[string][][]byte // frames by the port by which they left
	// shell is nil until the first line of CLI.
	shell  *cli.Shell
	output bytes.Buffer // output of the shell
}

// Start starts a switch with a chip of 8 ports of 10 Gb/s, Ethernet0 to Ethernet7, and stops it at the end of the
// test. Each of the given texts has the form of a config_db.json; a later one overrides an earlier one. If none has a
// table PORT, every port of the chip is configured, and up.
func Start(t testing.TB, configDB ...string) *Switch {
	t.Helper()
	return StartOn(t, profile.Small(), configDB...)
}

// StartOn acts like [Start], but with the given chip.
func StartOn(t testing.TB, profile profile.Profile, configDB ...string) *Switch {
	t.Helper()
	config := device.ConfigDB{"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:00:01"}}}
	for _, text := range configDB {
		c, err := device.ParseConfigDB([]byte(text))
		if err != nil {
			t.Fatalf("config_db.json: %v", err)
		}
		for table, rows := range c {
			if config[table] == nil {
				config[table] = map[string]swss.FieldValues{}
			}
			maps.Copy(config[table], rows)
		}
	}
	if config["PORT"] == nil {
		config["PORT"] = allPorts(profile)
	}
	s := &Switch{t: t, left: map[string][][]byte{}}
	sim, err := device.NewSim(t.Context(), device.SimConfig{Profile: profile, Config: config, Attach: s.attach})
	if err != nil {
		t.Fatal(err)
	}
	s.sim = sim
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	s.runUntilIdle()
	return s
}

// allPorts returns the rows of the ports that a chip has by default.
func allPorts(p profile.Profile) map[string]swss.FieldValues {
	ports := map[string]swss.FieldValues{}
	for _, d := range p.Default {
		for i := range d.Count {
			var lanes []string
			first := d.First + i*d.Lanes
			for lane := first; lane < first+d.Lanes; lane++ {
				lanes = append(lanes, strconv.FormatUint(uint64(lane), 10))
			}
			ports[fmt.Sprint("Ethernet", first-p.FirstLane)] = swss.FieldValues{
				"lanes": strings.Join(lanes, ","), "speed": fmt.Sprint(d.Mbps), "admin_status": "up",
			}
		}
	}
	return ports
}

// attach collects the frames that leave a chip. After a restart of syncd there is a new chip.
func (s *Switch) attach(chip *saisim.Chip) {
	names := map[saisim.PortID]string{saisim.CPUPort: CPU}
	chip.SetOutput(func(o *saisim.Out) {
		name, ok := names[o.Port]
		if !ok {
			name = fmt.Sprint("Ethernet", uint32(o.Port)-chip.Profile().FirstLane)
			names[o.Port] = name
		}
		s.left[name] = append(s.left[name], bytes.Clone(o.Data))
	})
}

func (s *Switch) runUntilIdle() {
	s.t.Helper()
	if err := s.sim.RunUntilIdle(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Set writes a row of CONFIG_DB, such as "VLAN|Vlan10", replacing the old one, and runs the switch until all
// consequences are applied. A row may have no fields.
func (s *Switch) Set(row string, fieldsAndValues ...string) {
	s.t.Helper()
	if len(fieldsAndValues)%2 != 0 {
		s.t.Fatalf("Set %s: field %s has no value", row, fieldsAndValues[len(fieldsAndValues)-1])
	}
	if len(fieldsAndValues) == 0 {
		fieldsAndValues = []string{"NULL", "NULL"} // as SONiC writes a row without fields
	}
	pipe := s.sim.Redis.DB(swss.ConfigDB).Client().TxPipeline()
	pipe.Del(s.t.Context(), row)
	pipe.HSet(s.t.Context(), row, fieldsAndValues)
	if _, err := pipe.Exec(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.runUntilIdle()
}

// Delete deletes a row of CONFIG_DB, and runs the switch until all consequences are applied.
func (s *Switch) Delete(row string) {
	s.t.Helper()
	n, err := s.sim.Redis.DB(swss.ConfigDB).Client().Del(s.t.Context(), row).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	if n == 0 {
		s.t.Fatalf("Delete %s: there is no such row in CONFIG_DB", row)
	}
	s.runUntilIdle()
}

// Row reads a row of a database by its full key, such as "TAM_STATE_FEATURES_TABLE|ALTMARK" in [swss.StateDB]. It
// returns nil if there is none. Counters are as of the last [Switch.Poll].
func (s *Switch) Row(db swss.DBName, key string) map[string]string {
	s.t.Helper()
	row, err := s.sim.Redis.DB(db).Client().HGetAll(s.t.Context(), key).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(row) == 0 {
		return nil
	}
	return row
}

// Problems lists the rows of CONFIG_DB that are not in force, each with its status and the reason.
func (s *Switch) Problems() []device.Problem {
	s.t.Helper()
	problems, err := device.Problems(s.t.Context(), s.sim.Redis)
	if err != nil {
		s.t.Fatal(err)
	}
	return problems
}

// Send makes frames (without FCS) enter at a port, back to back from now on. Send returns before they have arrived;
// [Switch.Advance] lets time pass.
func (s *Switch) Send(port string, frames ...[]byte) {
	s.t.Helper()
	id, ok := s.sim.Chip.PortByName(port)
	if !ok {
		s.t.Fatalf("Send: the chip has no port %s", port)
	}
	for _, f := range frames {
		if err := s.sim.Chip.Receive(id, s.sim.Chip.Now(), saisim.Frame{Data: f}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Advance lets time pass: frames move, timers run, and the switch applies all consequences.
func (s *Switch) Advance(d time.Duration) {
	s.t.Helper()
	if err := s.sim.Advance(s.t.Context(), s.sim.Chip.Now()+s.sim.Chip.CycleAt(d)); err != nil {
		s.t.Fatal(err)
	}
	s.runUntilIdle()
}

// Left returns the frames (without FCS) that have left by a port since the last call, in order.
func (s *Switch) Left(port string) [][]byte {
	frames := s.left[port]
	delete(s.left, port)
	return frames
}

// Poll reads all counters into COUNTERS_DB now.
func (s *Switch) Poll() {
	s.t.Helper()
	if err := s.sim.Poll(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// CLI executes lines in the switch's shell, which is the same session for all calls, and returns their output. The
// switch applies the consequences of each line. A rejected line ends the test.
func (s *Switch) CLI(lines ...string) string {
	s.t.Helper()
	if s.shell == nil {
		s.startShell()
	}
	s.output.Reset()
	for _, line := range lines {
		if err := s.shell.Exec(s.t.Context(), line); err != nil {
			s.t.Fatalf("%s: %v\n%s", line, err, &s.output)
		}
		s.runUntilIdle()
	}
	return s.output.String()
}

// startShell serves the switch, and starts a shell that is connected to it.
func (s *Switch) startShell() {
	s.t.Helper()
	target, stop, err := s.sim.Northbound(s.t.Context(), s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	s.shell, err = cli.New(cli.Config{Target: target, Out: &s.output, Err: &s.output})
	s.t.Cleanup(func() {
		if s.shell != nil {
			s.shell.Close()
		}
		if err := stop(); err != nil {
			s.t.Error(err)
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Sim returns the whole switch, for functions that this package lacks: restarts of daemons, the cycles of the chip,
// its frame accounting.
func (s *Switch) Sim() *device.Sim { return s.sim }
