package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/tam/record"
)

// recordTestPlan returns a plan of two tables, of which the second is recorded, and its file.
func recordTestPlan(t *testing.T) (*record.Plan, string) {
	t.Helper()
	bit := 0
	p := &record.Plan{Pipeline: "ingress", PHV: "8", Mode: record.ModeExecution,
		Recorded: []record.Recorded{{Table: "b", Bits: 1, Ran: &bit}},
		Graph: &record.Graph{Pipeline: "ingress", Init: "a", Nodes: []record.Node{{ID: "a", Kind: record.Table},
			{ID: "b", Kind: record.Table}},
			Edges: []record.Edge{{From: "a", To: "b", Label: "x"}, {From: "a", To: record.Exit, Label: "y"},
				{From: "b", To: record.Exit}}}}
	p.Seal()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return p, name
}

// Errors on the command lines of decode and collect record are reported by name.
func TestRecordRefuses(t *testing.T) {
	_, plan := recordTestPlan(t)
	try(t, "",
		line{"decode record", command.ExitUsage, "accepts 1 arg"},
		line{"decode record a.pcap", command.ExitUsage, "--plan is missing"},
		line{"decode record a.pcap --plan " + plan + " --format xml", command.ExitUsage, `--format "xml": want text or json`},
		line{"decode record a.pcap --plan " + plan + "x", command.ExitFailed, "plan.jsonx: no such file"},
		line{"decode record " + plan + " --plan " + plan, command.ExitFailed, "plan.json"},
		line{"decode record /nowhere --plan " + plan, command.ExitFailed, "/nowhere: no such file"},
		line{"decode what", command.ExitUsage, "want ifa, path-tracing, record, sflow or tailstamp"},
		line{"collect record", command.ExitUsage, "--plan is missing"},
		line{"collect record --plan " + plan + " --count -1", command.ExitUsage, "--count -1"},
		line{"collect record --plan " + plan + " --listen nowhere", command.ExitFailed, "--listen nowhere: "},
		line{"collect record --plan " + plan + " --listen :1 --interface e", command.ExitUsage,
			"--interface e and --listen :1: want one of them"},
		line{"collect record --plan " + plan + " --interface nowhere", command.ExitFailed, "interface nowhere: "},
		line{"collect nothing", command.ExitUsage, "unknown command"},
		line{"sim --config c --in Ethernet0=a --out o --fault skip", command.ExitUsage,
			`--fault "skip": want skip=TABLE or misplace=TABLE:INTO`},
		line{"sim --config c --in Ethernet0=a --out o --fault misplace=a:", command.ExitUsage, `--fault "misplace=a:": want`},
		line{"sim --config c --in Ethernet0=a --out o --fault heal=a", command.ExitUsage, `--fault "heal=a": want`})
}

// Records that come by UDP are printed as they come, and summarised at the end.
func TestCollectRecord(t *testing.T) {
	p, plan := recordTestPlan(t)
	at, end := listening(t, "collect", "record", "--listen", "127.0.0.1:0", "--plan", plan, "--count", "4")
	conn, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, bits := range []byte{1, 0, 1, 2} {
		r := record.Record{Bits: []byte{bits}, Plan: p.ID, InPort: 1, OutPort: 2, At: record.Time{Seconds: 1},
			In: record.Time{Seconds: 1}}
		for _, payload := range [][]byte{[]byte("none"), r.Append([]byte("frame"))} {
			if _, err := conn.Write(payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	code, out := end()
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"not IP: Ethernet1 > Ethernet2, 0 ns; new: a > b\n", "; new: a\n", "new: impossible: bit 1 is set",
		"8 frames: 4 records, 4 without\n", "4 packets: 3 with an exact path, 0 with several, 1 impossible\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
