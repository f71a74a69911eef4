package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A hostileLoad is a number of absurd rows.
type hostileLoad struct {
	name string
	rows int
	row  func(i int) (table, key string, fields swss.FieldValues)
}

func loads() []hostileLoad {
	huge, large := strings.Repeat("x", 10<<20), strings.Repeat("x", 200<<10)
	ports := strings.Repeat("Ethernet0,", 6_000)
	return []hostileLoad{
		{"nothing", 0, nil},
		{"20 rows of 10 MB", 20, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgTAMTailStamp, fmt.Sprint("s", i), swss.FieldValues{"nonsense": huge}
		}},
		{"500 rows of 200 kB", 500, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgTAMTailStamp, fmt.Sprint("s", i), swss.FieldValues{"nonsense": large}
		}},
		{"5,000 lists of 6,000", 5_000, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgACLRule, fmt.Sprint("TAM|r", i), swss.FieldValues{"IN_PORTS": ports}
		}},
		{"100,000 sessions", 100_000, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgTAMTailStamp, fmt.Sprint("s", i), swss.FieldValues{"flowgroup": "all"}
		}},
		{"100,000 rules", 100_000, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgACLRule, fmt.Sprint("TAM|r", i), swss.FieldValues{"L4_DST_PORT": "7", "IP_PROTOCOL": "17"}
		}},
		{"100,000 routes", 100_000, func(i int) (string, string, swss.FieldValues) {
			return schema.CfgStaticRoute, fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255), swss.FieldValues{"blackhole": "true"}
		}},
	}
}

// BenchmarkHostileLoads writes absurd loads to a switch of processes, and reports the peak memory of each daemon, in
// MB, until all of them were ready.
func BenchmarkHostileLoads(b *testing.B) {
	for _, load := range loads() {
		b.Run(load.name, func(b *testing.B) {
			for b.Loop() {
				server := swsstest.StartServer(b)
				r := server.Open()
				procs := map[string]*exec.Cmd{}
				for _, name := range killable {
					cmd := exec.Command(os.Args[0])
					cmd.Env = append(os.Environ(), daemonVariable+"="+name, redisVariable+"="+server.Addr)
					devicetest.NoError(b, cmd.Start())
					procs[name] = cmd
					defer func() {
						_ = cmd.Process.Kill()
						_ = cmd.Wait() // the error reports that the process was killed
					}()
				}
				c := devicetest.TwoPorts()
				devicetest.NoError(b, c.Load(b.Context(), r))
				for i := range load.rows {
					table, key, row := load.row(i)
					devicetest.NoError(b, swss.NewTable(r.DB(swss.ConfigDB), table).Set(b.Context(), key, row))
				}
				for _, name := range killable {
					wait(b, r, name)
					b.ReportMetric(mostMemory(b, procs[name]), name+"-MB")
				}
			}
		})
	}
}

// wait waits until a daemon has been ready.
func wait(b *testing.B, r *swss.Redis, name string) {
	b.Helper()
	events := r.DB(swss.StateDB).Subscribe(b.Context(), "__keyspace@6__:"+schema.StateHealth+"|"+name)
	defer events.Close()
	for {
		if state, heard, err := daemons.ReadState(b.Context(), r, name); err != nil {
			b.Fatal(err)
		} else if heard && state.State == daemons.StateReady {
			return
		}
		if _, err := events.Receive(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// mostMemory returns the peak memory of a process, in MB.
func mostMemory(b *testing.B, cmd *exec.Cmd) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Skip("the memory of a process is not known here: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kB) / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
