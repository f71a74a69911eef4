package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/tam/record"
)

// recordTestPlan is of two tables, of which records tell the second, and its file.
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

// What is wrong on the command lines of decode and collect record is named.
func TestRecordRefuses(t *testing.T) {
	_, plan := recordTestPlan(t)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"decode record", exitUsage, "accepts 1 arg"},
		{"decode record a.pcap", exitUsage, "--plan is missing"},
		{"decode record a.pcap --plan " + plan + " --format xml", exitUsage, `--format "xml": want text or json`},
		{"decode record a.pcap --plan " + plan + "x", exitFailed, "plan.jsonx: no such file"},
		{"decode record " + plan + " --plan " + plan, exitFailed, "plan.json"},
		{"decode record /nowhere --plan " + plan, exitFailed, "/nowhere: no such file"},
		{"decode what", exitUsage, "decode what?"},
		{"collect record", exitUsage, "--plan is missing"},
		{"collect record --plan " + plan + " --count -1", exitUsage, "--count -1"},
		{"collect record --plan " + plan + " --listen nowhere", exitFailed, "--listen nowhere: "},
		{"collect record --plan " + plan + " --listen :1 --interface e", exitUsage,
			"--interface e and --listen :1: want one of them"},
		{"collect record --plan " + plan + " --interface nowhere", exitFailed, "interface nowhere: "},
		{"collect nothing", exitUsage, "unknown command"},
		{"sim --config c --in Ethernet0=a --out o --fault skip", exitUsage,
			`--fault "skip": want skip=TABLE or misplace=TABLE:INTO`},
		{"sim --config c --in Ethernet0=a --out o --fault misplace=a:", exitUsage, `--fault "misplace=a:": want`},
		{"sim --config c --in Ethernet0=a --out o --fault heal=a", exitUsage, `--fault "heal=a": want`},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(tt.args), strings.NewReader(""), &out, &errOut)
		if code != tt.code || !strings.Contains(errOut.String(), tt.want) {
			t.Errorf("%s: exit %d, %s; want %d, %s", tt.args, code, errOut.String(), tt.code, tt.want)
		}
	}
}

// Records that come by UDP are told as they come, and summed up at the end.
func TestCollectRecord(t *testing.T) {
	p, plan := recordTestPlan(t)
	pr, pw := io.Pipe()
	var out bytes.Buffer
	done := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		code := run(ctx, []string{"collect", "record", "--listen", "127.0.0.1:0", "--plan", plan, "--count", "4"},
			strings.NewReader(""), &out, pw)
		pw.Close()
		done <- code
	}()
	lines := bufio.NewReader(pr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	conn, err := net.Dial("udp", strings.TrimSpace(strings.TrimPrefix(line, "tamtam: listening at ")))
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
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		"not IP: Ethernet1 > Ethernet2, 0 ns; new: a > b\n", "; new: a\n", "new: impossible: bit 1 is set",
		"8 frames: 4 records, 4 without\n", "4 packets: 3 with an exact path, 0 with several, 1 impossible\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
