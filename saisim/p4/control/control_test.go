package control_test

import (
	"os"
	"strings"
	"testing"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/control"
	"tamtam/saisim/p4/interp"
)

// router returns a switch that runs the router of the tests.
func router(t testing.TB) *interp.Switch {
	t.Helper()
	p, err := p4.ReadFile("../testdata/router.json")
	if err != nil {
		t.Fatal(err)
	}
	sw, err := interp.New(p, interp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

// The router's test in STF holds: longest prefix, time to live, checksum and counters.
func TestRouter(t *testing.T) {
	f, err := os.Open("../testdata/router.stf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sw := router(t)
	s, err := control.ReadSTF(f, "router.stf", sw.Program)
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
}

// Commands print what simple_switch_CLI prints, without the lines that repeat the command.
func TestCommands(t *testing.T) {
	c := control.NewCLI(router(t))
	for _, tt := range []struct{ line, want string }{
		{"table_num_entries routes", "0\n"},
		{"table_add routes forward 10.0.0.1/8 => 02:00:00:00:00:01 3", "Entry has been added with handle 0\n"},
		{"table_add MyIngress.routes MyIngress.forward 0xc0000200/24 => 0x1 0b11", "Entry has been added with handle 1\n"},
		{"table_dump_entry routes 0", "Dumping entry 0x0\nMatch key:\n* ipv4.dst            : LPM       0a000001/8\n" +
			"Action entry: MyIngress.forward - 020000000001, 03\n"},
		{"table_modify routes drop 1", ""},
		{"table_dump_entry_from_key routes 192.0.2.0/24", "Dumping entry 0x1\nMatch key:\n" +
			"* ipv4.dst            : LPM       c0000200/24\nAction entry: MyIngress.drop - \n"},
		{"counter_read routed 0", "this is the direct counter for table MyIngress.routes\n" +
			"MyIngress.routed[0]= (0 bytes, 0 packets)\n"},
		{"counter_write routed 0 2 300", ""},
		{"counter_read routed 0", "this is the direct counter for table MyIngress.routes\n" +
			"MyIngress.routed[0]= (300 bytes, 2 packets)\n"},
		{"table_set_default routes forward 1 2", "Setting default action of MyIngress.routes\n" +
			"action:              MyIngress.forward\nruntime data:        00:00:00:00:00:01\t00:02\n"},
		{"table_reset_default routes", ""},
		{"table_delete routes 0", ""},
		{"table_num_entries routes", "1\n"},
		{"table_clear routes", ""},
		{"mc_mgrp_create 1", ""},
		{"mc_node_create 7 1 2 3", "node was created with handle 0\n"},
		{"mc_node_associate 1 0", ""},
		{"mirroring_add 5 4", ""},
		{"set_queue_rate 1000 2", ""},
		{"set_queue_depth 16", ""},
		{"", ""},
		{"# a comment", ""},
	} {
		if got, err := c.Run(tt.line); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.line, got, err, tt.want)
		}
	}
}

// An error names what is wrong and what would be right.
func TestCommandErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"table_ad routes", `command "table_ad" is not supported`},
		{"table_add routes", "want: table_add TABLE ACTION KEY... => [ARGUMENT...] [PRIORITY]"},
		{"table_add route forward 10.0.0.0/8 => 1 1", `table "route", want one of MyIngress.routes`},
		{"table_add routes go 10.0.0.0/8 => 1 1", `action "go", want one of MyIngress.forward, MyIngress.drop`},
		{"table_add routes forward 10.0.0.0/8 1 1", "no => between key and arguments"},
		{"table_add routes forward 10.0.0.0 => 1 1", "key hdr.ipv4.dst (lpm, 32 bits)"},
		{"table_add routes forward 10.0.0.0/33 => 1 1", "want 0 to 32"},
		{"table_add routes forward 10.0.0.256/8 => 1 1",
			"is not a number, want one like 10, 0x0a or 0b1010 or an IPv4 address"},
		{"table_add routes forward 1/8 2/8 => 1 1", "2 key values before =>, want 1"},
		{"table_add routes forward 10.0.0.0/8 => 1", "1 arguments, want 2: mac (48 bits), port (9 bits)"},
		{"table_add routes forward 10.0.0.0/8 => 1 512", "want 0 to 0x1ff (9 bits)"},
		{"table_add routes forward 10.0.0.0/8 => 1 -1", "want 0 to 0x1ff (9 bits)"},
		{"table_delete routes x", `handle "x", want an integer from 0`},
		{"table_delete routes 3", "INVALID_HANDLE"},
		{"table_indirect_add routes 10.0.0.0/8 => 1", "has no action profile"},
		{"act_prof_create_group p", `action profile "p": the program has none`},
		{"meter_set_rates m 0 1:1 1:1", `meter "m": the program has none`},
		{"register_read r 0", `register "r": the program has none`},
		{"mc_node_associate 9 0", "multicast group 9 does not exist"},
		{"mirroring_add 40000 1", "want 0 to 32767"},
		{"mirroring_delete 7", "session 7 does not exist"},
		{"set_queue_rate fast", `rate "fast", want an integer`},
		{"set_crc16_parameters c 1 2 3 true true", "want the name of one with algorithm crc16_custom"},
		{"table_set_timeout routes 0 5", "has no support for timeouts"},
	} {
		c := control.NewCLI(router(t))
		if _, err := c.Run(tt.line); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.line, err, tt.want)
		}
	}
	err := control.NewCLI(router(t)).Load(strings.NewReader("\n# x\ntable_clear r\n"), "entries.txt")
	if err == nil || !strings.HasPrefix(err.Error(), "entries.txt:3: table_clear: ") {
		t.Errorf("error %v, want one of line 3", err)
	}
}

// An error of an STF file has the line, and what would be right.
func TestSTFErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"paket 0 00", `statement "paket" is not supported`},
		{"packet x 00", `port "x", want 0 to 65535`},
		{"packet 0 0", "two hexadecimal digits per byte"},
		{"expect 0 0g", "want hexadecimal digits"},
		{"add nothing dst:0x0a/8 drop()", `table "nothing", want one of`},
		{"add routes dst:0x0a000000/8 fly()", `action "fly", want one of`},
		{"add routes src:0x0a000000/8 drop()", `has no key "src"`},
		{"add routes dst:0x0a000000/8 forward(mac:1)", "no argument port"},
		{"add routes dst:0x0a000000/8 forward(mac:1, prt:2)", `has no parameter "prt"`},
		{"add routes dst:0x0a000000/8 drop() drop", "after the statement"},
		{"add routes dst:10 drop()", "is not a value of a key of kind lpm"},
		{"setdefault routes forward(mac:0x1ffffffffffff, port:1)", "want 0 to 0xffffffffffff"},
		{"check_counter routed(0) apples == 1", "want packets or bytes"},
		{"remove one", "want remove all"},
		{"wait 5", "want none"},
		{"add routes dst~1", "is not a name, number or sign"},
	} {
		_, err := control.ReadSTF(strings.NewReader("\n"+tt.text), "x.stf", router(t).Program)
		if err == nil || !strings.HasPrefix(err.Error(), "x.stf:2: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one of line 2 with %q", tt.text, err, tt.want)
		}
	}
}

// Each expectation that does not hold is reported.
func TestSTFFailures(t *testing.T) {
	const packet = "packet 0 020000000099020000000088080045000014000000004011 64cd 0a0000090a010203\n"
	const route = "add routes dst:0x0a****** forward(mac:1, port:2)\n"
	for _, tt := range []struct{ text, want string }{
		{route + packet, "port 2 sent 1 packets, want 0"},
		{route + packet + "expect 2 ******\nexpect 2 00", "port 2 sent 1 packets, want 2"},
		{route + packet + "expect 2 ff", "port 2, packet 1 is 000000000001"},
		{route + packet + "expect 2 000000000001$", "port 2, packet 1 is 000000000001"},
		{"expect 3 00", "line 1: port 3 sent 0 packets, want 1"},
		{"check_counter routed(0) packets > 0", "INVALID_HANDLE"},
	} {
		sw := router(t)
		s, err := control.ReadSTF(strings.NewReader(tt.text), "x.stf", sw.Program)
		if err != nil {
			t.Fatal(err)
		}
		failures, err := s.Run(sw)
		text := strings.Join(failures, "\n")
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, tt.want) {
			t.Errorf("%q: %s, want %q", tt.text, text, tt.want)
		}
	}
}

// FuzzCommands runs any text as commands, and FuzzSTF as an STF file. Neither ends the switch.
func FuzzCommands(f *testing.F) {
	f.Add("table_add routes forward 10.0.0.0/8 => 02:00:00:00:00:01 1\ntable_dump routes\ntable_delete routes 0")
	f.Add("mc_mgrp_create 1\nmc_node_create 1 1 2 | 3\nmc_node_associate 1 0\nmirroring_add_mc 1 1\nreset_state")
	f.Add("set_queue_rate 1000 1 2\ncounter_write routed 0 1 2\ncounter_reset routed")
	f.Fuzz(func(t *testing.T, text string) {
		sw := router(t)
		c := control.NewCLI(sw)
		for line := range strings.Lines(text) {
			if _, err := c.Run(line); err != nil && err.Error() == "" {
				t.Error("an error without text")
			}
		}
		if err := sw.Receive(1, 1000, []byte(text)[:min(len(text), 1500)]); err != nil {
			t.Error(err)
		}
		if a := sw.Accounts(); !a.Balanced() {
			t.Errorf("accounts are not balanced: %+v", a)
		}
	})
}

func FuzzSTF(f *testing.F) {
	text, err := os.ReadFile("../testdata/router.stf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("add routes \"dst\":0b1010**** drop()\nremove all\nwait\nexpect 1\nmc_mgrp_create 1")
	f.Fuzz(func(t *testing.T, text string) {
		sw := router(t)
		if s, err := control.ReadSTF(strings.NewReader(text), "f.stf", sw.Program); err == nil {
			_, _ = s.Run(sw)
		}
	})
}
