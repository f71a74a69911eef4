package cli

import (
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
)

// The equivalent of each supported command of SONiC consists of valid lines of the shell.
func TestClicksAreCommands(t *testing.T) {
	g := kit.Compile(commandTable(submodes()), submodes())
	sample := strings.NewReplacer("mtu {i} {n}", "mtu {i} 1500", "\nmtu {n}", "\nmtu 1500", "sample-rate {i} {n}",
		"sample-rate {i} 256", "{i} sample-rate {n}", "{i} sample-rate 256", "{d}", "both", "{n}", "1", "{i}", "Ethernet0",
		"{p}", "10.0.0.1/24", "{m}", "4x25G", " {*}", "")
	for _, c := range clicks() {
		in := kit.ModeExec
		for line := range strings.SplitSeq(sample.Replace(c.ours), "\n") {
			_, _, err := g.Parse(in, line, kit.Split(line))
			needs := err != nil && strings.Contains(err.Error(), "ncomplete command") && strings.HasSuffix(c.ours, "{*}")
			if err != nil && !needs {
				t.Errorf("%s: %q: %v", c.theirs, line, err)
				break
			}
			switch word, _, _ := strings.Cut(line, " "); {
			case word == "configure":
				in = kit.ModeConfig
			case word == "tam":
				in = kit.ModeTAM
			case word == "interface" && !strings.Contains(line, "breakout"):
				in = kit.ModeInterface
			case slices.ContainsFunc(tam.Features(), func(f tam.Feature) bool { return f.Word == line }):
				in = kit.Mode(line)
			}
		}
	}
}

// The configuration in SONiC's words is in CONFIG_DB, and the shell is in its previous mode.
func TestClicksConfigure(t *testing.T) {
	s, r := newSwitch(t)
	for _, line := range []string{
		"config tam collector add c9 ip 10.0.0.1 port 99", "config tam flow-group add web dst-l4-port 80",
		"config tam tail-stamping session add s1 flowgroup web", "config tam tail-stamping enable",
		"config interface mtu Ethernet0 1500", "config interface shutdown Eth2", "config vlan add 10",
		"config vlan member add -u 10 Ethernet0", "config interface ip add Ethernet8 10.1.0.1/24",
	} {
		s.do(t, line)
		if s.session.Mode != kit.ModeExec {
			t.Fatalf("behind %q the shell is in mode %q", line, s.session.Mode)
		}
	}
	for key, want := range map[string]string{
		"TAM_COLLECTORS_TABLE|c9": "port", "TAM_TAILSTAMPING_TABLE|s1": "flowgroup",
		"TAM_FEATURES_TABLE|TAILSTAMPING": "status",
		"VLAN_MEMBER|Vlan10|Ethernet0":    "tagging_mode", "INTERFACE|Ethernet8|10.1.0.1/24": "NULL",
	} {
		if row := r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), key).Val(); row[want] == "" {
			t.Errorf("%s is %v", key, row)
		}
	}
	port, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgPort).Get(t.Context(), "Ethernet4")
	if err != nil || port["admin_status"] != "down" {
		t.Errorf("Ethernet4 is %v, %v", port, err)
	}
	if out := s.do(t, "show interfaces status Ethernet0 | count"); !strings.HasPrefix(out, "Count: ") {
		t.Errorf("a pipe: %q", out)
	}
	if err := s.Exec(t.Context(), "config interface mtu Ethernet0 15"); err == nil ||
		!strings.Contains(err.Error(), "68 to 9216") {
		t.Errorf("a wrong value: %v", err)
	}
	s.do(t, "config tam tail-stamping session del s1")
	if row := r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), "TAM_TAILSTAMPING_TABLE|s1").Val(); len(row) > 0 {
		t.Errorf("what was deleted: %v", row)
	}
}
