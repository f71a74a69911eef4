package control_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/saisim/p4"
	"tamtam/saisim/p4/control"
	"tamtam/saisim/p4/interp"
)

// judge returns the folder with programs of others and what is expected of them. It is not part of the tree.
func judge(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("P4_JUDGE")
	if dir == "" {
		t.Skip("P4_JUDGE is not set; want a folder with programs in BMv2 JSON, such as a checkout of behavioral-model")
	}
	return dir
}

// files returns the files of a folder whose names match a pattern.
func files(t *testing.T, dir, pattern string) (found []string) {
	t.Helper()
	form := regexp.MustCompile(pattern)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && form.MatchString(path) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// load returns a switch with the program that has this name in the judge's folder, or skips the test.
func load(t *testing.T, name string, c interp.Config) *interp.Switch {
	t.Helper()
	found := files(t, judge(t), "/"+regexp.QuoteMeta(name)+"$")
	if len(found) == 0 {
		t.Skipf("no %s below P4_JUDGE", name)
	}
	p, err := p4.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	sw, err := interp.New(p, c)
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

// unreadable are the files that are not programs for v1model, with a part of the reason.
var unreadable = map[string]string{
	"extern_custom_fields.json": `extern type "CustomExtern" is not supported`,
}

// Every JSON program is read and forwards packets of all lengths without a panic, or it is refused with a reason: it
// has no parser, or an extern that v1model does not have.
func TestJudgePrograms(t *testing.T) {
	read, refused := 0, 0
	for _, path := range files(t, judge(t), `\.json$`) {
		p, err := p4.ReadFile(path)
		if err != nil {
			want, known := unreadable[filepath.Base(path)]
			if !known {
				want = "want a"
			}
			if !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			t.Log(err)
			refused++
			continue
		}
		read++
		sw, err := interp.New(p, interp.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 64 {
			packet := make([]byte, n*7)
			for i := range packet {
				packet[i] = byte(i*n + n)
			}
			if err := sw.Receive(uint32(n%8), uint64(n)*1000, packet); err != nil {
				t.Fatal(err)
			}
		}
		if a := sw.Accounts(); !a.Balanced() {
			t.Errorf("%s: accounts are not balanced: %+v", path, a)
		}
	}
	if read == 0 {
		t.Fatal("no program was read")
	}
	t.Logf("%d programs run, %d files refused", read, refused)
}

// The commands of files .in print what the files .out beside contain.
func TestJudgeCommands(t *testing.T) {
	programs := map[string]string{
		"table_dump_old": "ecmp.json", "table_dump": "ecmp.json", "mc_dump": "ecmp.json",
	}
	ran := 0
	for _, in := range files(t, judge(t), `CLI_tests/testdata/.*\.in$`) {
		name := strings.TrimSuffix(filepath.Base(in), ".in")
		program := programs[name]
		if program == "" {
			program = name + ".json"
		}
		out := strings.TrimSuffix(in, ".in") + ".out"
		wanted, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if to := strings.TrimSpace(string(wanted)); strings.HasSuffix(to, ".out") {
			out = filepath.Join(filepath.Dir(in), to) // a link that became a file
			if wanted, err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(name, func(t *testing.T) {
			if name == "mc_dump" {
				t.Skip("mc_dump is not supported: it prints the ports of a node in place of those of a group")
			}
			c := control.NewCLI(load(t, program, interp.Config{}))
			commands, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(commands)) {
				text, err := c.Run(line)
				if err != nil {
					code := regexp.MustCompile(`\([A-Z_]+\)`).FindString(err.Error())
					text = fmt.Sprintf("Invalid %s operation %s\n", strings.Split(line, "_")[0], code)
				}
				got.WriteString(text)
			}
			want := strings.ReplaceAll(string(wanted), "????\n", "")
			if strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
				t.Errorf("printed\n%s\nwant\n%s", got.String(), want)
			}
		})
		ran++
	}
	t.Logf("%d files of commands", ran)
}

// What behavioral-model's own tests of simple_switch expect, as STF.
func TestJudgePackets(t *testing.T) {
	const redirect = `
			table_set_default t_ingress_1 _nop
			table_set_default t_ingress_2 _nop
			table_set_default t_egress _nop
			table_set_default t_exit set_hdr`
	tests := []struct{ name, program, stf string }{
		{"redirect", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _set_port 1 0 => 2
			packet 1 01000000
			expect 2 0102$`},
		{"multicast", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _multicast 2 0 => 1
			mc_mgrp_create 1
			mc_node_create 1 1
			mc_node_create 2 2
			mc_node_associate 1 0
			mc_node_associate 1 1
			packet 1 02000000
			expect 1 0202
			expect 2 0202`},
		{"clone at ingress", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _set_port 3 0 => 2
			table_add t_ingress_2 _clone_i2e 3 0&&&0 => 1 1
			mirroring_add 1 3
			packet 1 03000000
			expect 2 0302
			expect 3 0304`},
		{"clone at egress", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _set_port 4 0 => 2
			table_add t_egress _clone_e2e 4 0&&&0xffffffff 0&&&0xff => 1 1
			mirroring_add 1 3
			packet 1 04000000
			expect 2 0402
			expect 3 0402`},
		{"resubmit", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _set_port 5 0 => 2
			table_add t_ingress_1 _set_port 5 1 => 3
			table_add t_ingress_2 _resubmit 5 0&&&0xffffffff => 1
			packet 1 05000000
			expect 3 0502`},
		{"recirculate", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _set_port 6 0 => 2
			table_add t_ingress_1 _set_port 6 1 => 3
			table_add t_egress _recirculate 6 0&&&0xffffffff 0&&&0xff => 1
			packet 1 060000000000
			expect 3 0602`},
		{"exit", "packet_redirect.json", redirect + `
			table_add t_ingress_1 _exit 7 0 =>
			packet 1 07000000
			expect 0 07`},
		{"recirculate once", "recirc.json", `
			packet 1 0000
			expect 1 **ab`},
		{"first program of a swap", "swap_1.json", `
			table_set_default t_ingress_1 a11
			packet 0 ab
			expect 1 ab`},
		{"truncate", "truncate.json", `
			table_add t_ingress _truncate 1 => 3 2
			packet 1 01abababababababababab
			expect 2 01abab$`},
		{"no parser error", "parser_error.json", `
			packet 1 00000000
			expect 1 ******00$`},
		{"packet too short", "parser_error.json", `
			packet 1 0000
			expect 1 ******01****$`},
		{"error of the program", "parser_error.json", `
			packet 1 000000ab
			expect 1 ******02$`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runSTF(t, load(t, tt.program, interp.Config{}), tt.stf)
		})
	}
}

// runSTF runs a text of statements; those that STF does not have are commands.
func runSTF(t *testing.T, sw *interp.Switch, text string) {
	t.Helper()
	c := control.NewCLI(sw)
	var rest strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "table_") {
			if _, err := c.Run(line); err != nil {
				t.Fatal(err)
			}
			continue
		}
		rest.WriteString(line + "\n")
	}
	s, err := control.ReadSTF(strings.NewReader(rest.String()), "test.stf", sw.Program)
	if err != nil {
		t.Fatal(err)
	}
	failures, err := s.Run(sw)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failures {
		t.Error(f)
	}
	if a := sw.Accounts(); !a.Balanced() {
		t.Errorf("accounts are not balanced: %+v", a)
	}
}

// The depths and times of 16 packets at a queue of one packet per second are those that behavioral-model's test bounds.
func TestJudgeQueues(t *testing.T) {
	sw := load(t, "queueing.json", interp.Config{})
	c := control.NewCLI(sw)
	for _, line := range []string{
		"table_set_default t_ingress set_port 2", "table_set_default t_egress copy_queueing_data", "set_queue_rate 1",
	} {
		if _, err := c.Run(line); err != nil {
			t.Fatal(err)
		}
	}
	const packets, second = 16, 1_000_000_000
	for i := range uint64(packets) {
		if err := sw.Receive(1, i*1000, make([]byte, 256)); err != nil {
			t.Fatal(err)
		}
	}
	sw.Drain(100 * second)
	sent := sw.Sent()
	if len(sent) != packets {
		t.Fatalf("%d packets left, want %d", len(sent), packets)
	}
	field := func(f interp.Frame, from, size int) (v int) {
		for _, b := range f.Data[2+from : 2+from+size] {
			v = v<<8 | int(b)
		}
		return v
	}
	for i, f := range sent {
		enqueued, depth := field(f, 0, 6), field(f, 6, 3)
		waited, left := field(f, 9, 4), field(f, 13, 3)
		if enqueued != i || depth != i || waited != (i+1)*1_000_000-i || left != packets-1-i {
			t.Errorf("packet %d: enqueued at %d us behind %d, waited %d us, left %d behind it", i, enqueued, depth, waited,
				left)
		}
	}
}

// Frames that bmv2 captured at the outputs of a switch leave with the same bytes. Each folder below
// P4_CAPTURES has program.json, commands.txt with the entries, and captures pN_in.pcap and pN_out.pcap of port N.
func TestJudgeCaptures(t *testing.T) {
	dir := os.Getenv("P4_CAPTURES")
	if dir == "" {
		t.Skip("P4_CAPTURES is not set; want a folder of runs, each with program.json, commands.txt and captures")
	}
	for _, program := range files(t, dir, `/program\.json$`) {
		run := filepath.Dir(program)
		t.Run(filepath.Base(run), func(t *testing.T) { replay(t, run) })
	}
}

// An arrival is a packet of a capture.
type arrival struct {
	port uint32
	at   time.Time
	data []byte
}

// readCaptures returns the packets of the captures of a direction.
func readCaptures(t *testing.T, run, direction string) (all []arrival) {
	for _, path := range files(t, run, `/p[0-9]+_`+direction+`\.pcap$`) {
		var port uint32
		if _, err := fmt.Sscanf(filepath.Base(path), "p%d_", &port); err != nil {
			t.Fatal(err)
		}
		r, err := capture.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for {
			p, err := r.Next()
			if err != nil {
				break // a capture that bmv2 did not flush ends in the middle of a packet
			}
			all = append(all, arrival{port, p.Time, slices.Clone(p.Data)})
		}
		r.Close()
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return a.at.Compare(b.at) })
	return all
}

// started is the time of the first packet after the start of the switch. Programs test it against 0.
const started = 10 * time.Second

func replay(t *testing.T, run string) {
	p, err := p4.ReadFile(filepath.Join(run, "program.json"))
	if err != nil {
		t.Fatal(err)
	}
	sw, err := interp.New(p, interp.Config{Priorities: 1})
	if err != nil {
		t.Fatal(err)
	}
	commands, err := os.Open(filepath.Join(run, "commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer commands.Close()
	if err := control.NewCLI(sw).Load(commands, commands.Name()); err != nil {
		t.Fatal(err)
	}
	in := readCaptures(t, run, "in")
	for _, a := range in {
		if err := sw.Receive(a.port, uint64(started+a.at.Sub(in[0].at)), a.data); err != nil {
			t.Fatal(err)
		}
	}
	sw.Drain(1 << 62)
	// bmv2 receives the packets of several ports in an order of its own, so the order of what leaves is not compared.
	got := map[string]int{}
	for _, f := range sw.Sent() {
		got[fmt.Sprint(f.Port, f.Data)]++
	}
	want, missing := readCaptures(t, run, "out"), 0
	for _, a := range want {
		key := fmt.Sprint(a.port, a.data)
		if got[key]--; got[key] < 0 {
			if missing++; missing <= 3 {
				t.Errorf("port %d: %x is not sent", a.port, a.data)
			}
		}
	}
	t.Logf("%d packets in, %d of %d packets out are the same", len(in), len(want)-missing, len(want))
}

// pathStep matches a step of a packet through parser and ingress in p4pktgen's expected paths.
var pathStep = regexp.MustCompile(`\(u'(node_\d+)', \((True|False)|\(u'([\w.$]+)', u'([\w.$]+)'\)|'(\w+)'`)

// pathOf returns the steps of an expected path: states and errors, conditions, and tables with their actions.
func pathOf(text string) string {
	var steps []string
	for _, m := range pathStep.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			steps = append(steps, m[1]+"="+strings.ToLower(m[2]))
		case m[3] != "":
			steps = append(steps, m[3]+"/"+m[4])
		case m[5] != "sink":
			steps = append(steps, m[5])
		}
	}
	return strings.Join(steps, " ") + " "
}

// stepsOf returns the same from the trace of a packet.
func stepsOf(events []interp.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch {
		case e.Pipeline != "ingress" || e.Copy > 0:
		case e.Kind == "state", e.Kind == "parser_error":
			b.WriteString(e.Name + " ")
		case e.Kind == "condition":
			fmt.Fprintf(&b, "%s=%v ", e.Name, *e.Value)
		case e.Kind == "table":
			b.WriteString(e.Name + "/" + e.Action + " ")
		}
	}
	return b.String()
}

// p4pktgen proved of some paths that no packet takes them. No packet does, whatever it contains and whatever the
// default actions are.
func TestJudgePaths(t *testing.T) {
	found := files(t, judge(t), `/expected-paths\.json$`)
	if len(found) == 0 {
		t.Skip("no expected-paths.json below P4_JUDGE")
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks map[string]struct {
		JSON  string      `json:"json"`
		Paths [][2]string `json:"expected_paths"`
	}
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	impossible, possible, taken := 0, 0, 0
	for name, check := range checks {
		p, err := p4.ReadFile(filepath.Join(filepath.Dir(found[0]), check.JSON))
		if err != nil {
			t.Log(err)
			continue
		}
		seen := walks(t, p, 4000)
		for _, path := range check.Paths {
			steps, ever := pathOf(path[0]), false
			for s := range seen {
				ever = ever || strings.HasPrefix(s, steps)
			}
			switch path[1] {
			case "TestPathResult.NO_PACKET_FOUND":
				if impossible++; ever {
					t.Errorf("%s: a packet took the path %s", name, steps)
				}
			case "TestPathResult.SUCCESS":
				if possible++; ever {
					taken++
				} else {
					t.Logf("%s: no packet took the path %s", name, steps)
				}
			}
		}
	}
	t.Logf("%d impossible paths were not taken; %d of %d possible ones were", impossible, taken, possible)
}

// walks returns the paths of many packets, with changing default actions. Every number is a function of a counter.
func walks(t *testing.T, p *p4.Program, packets int) map[string]bool {
	t.Helper()
	var state uint64
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int((state >> 33) % uint64(n))
	}
	var events []interp.Event
	sw, err := interp.New(p, interp.Config{Trace: func(e interp.Event) { events = append(events, e) }})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	// The bytes that matter to these programs: types and lengths of Ethernet, IPv4 and TCP, and small numbers.
	common := []byte{0, 1, 2, 3, 4, 5, 6, 8, 0x45, 0x46, 0x08, 0x11, 0x60, 0xff}
	for i := range packets {
		for _, table := range p.Ingress.Tables {
			if table.Profile == nil && !table.ConstAction && len(table.Actions) > 0 && next(4) == 0 {
				a := table.Actions[next(len(table.Actions))]
				data := make([]*big.Int, len(a.Params))
				for j := range data {
					data[j] = big.NewInt(int64(next(2)))
				}
				if err := sw.SetDefault(table, interp.Action(a, data...)); err != nil {
					t.Fatal(err)
				}
			}
		}
		data := make([]byte, next(64))
		for j := range data {
			data[j] = common[next(len(common))]
		}
		if len(data) > 14 && next(3) > 0 {
			data[12], data[13], data[14] = 8, 0, byte(0x45+next(3))
		}
		events = events[:0]
		if err := sw.Receive(uint32(next(4)), uint64(i), data); err != nil {
			t.Fatal(err)
		}
		seen[stepsOf(events)] = true
	}
	return seen
}
