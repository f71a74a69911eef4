package cli

import (
	"strings"
	"testing"

	"tamtam/cli/kit"
)

// A typical mistake at the shell gets an error that has what is wrong, and what to do.
func TestMistakes(t *testing.T) {
	s, _ := newSwitch(t)
	const in = "type configure terminal"
	for _, tt := range []struct {
		mode kit.Mode
		line string
		want string
	}{
		{kit.ModeExec, "shwo vlan", `did you mean "show"?`},
		{kit.ModeExec, "show interfcae status", `did you mean "interface"?`},
		{kit.ModeExec, "show interface brif", "or show interface brief?"},
		{kit.ModeExec, "show interface br", "or show interface brief, breakout?"},
		{kit.ModeExec, "show interface Ethernet1", "does not exist: there are Ethernet0, Ethernet4, Ethernet8"},
		{kit.ModeExec, "show tam tailstampng", `did you mean "tail-stamping"?`},
		{kit.ModeExec, "show tam switch now", `Want watch`},
		{kit.ModeExec, "show tam", "Incomplete command, expected switch | "},
		{kit.ModeExec, "show tam collectors c9", "Collector c9 does not exist"},
		{kit.ModeExec, "show vlan | incldue 10", `did you mean "include"?`},
		{kit.ModeExec, "show vlan | include [", "missing closing ]"},
		{kit.ModeExec, "show vlan |", "A filter is missing after the pipe"},
		{kit.ModeExec, "show vlan | include 1 | json", "Json comes first in the pipe"},
		{kit.ModeExec, "write memory | count", "Only the output of show commands can be piped"},
		{kit.ModeExec, "show vlan watch 1", `"1" is not a time from 100ms to 24h0m0s, such as 1s`},
		{kit.ModeExec, `show tam collectors "c1`, "The closing quote is missing"},
		{kit.ModeExec, "show history", "at a terminal only"},
		{kit.ModeExec, "rollback 25", `"25" is not a number from 0 to 19`},
		{kit.ModeExec, "clear tam tail-stamping configuration", "Tail-stamping has nothing configured"},
		{kit.ModeExec, "ping leaf1", `"leaf1" is not an IPv4 or IPv6 address`},
		{kit.ModeExec, "ping 10.0.0.1 count 0", `"0" is not a number from 1 to 1000`},
		{kit.ModeExec, "ping 10.0.0.1 timeout 5", `"5" is not a time from 100ms to 1m, in whole milliseconds, such as 2s`},
		{kit.ModeExec, "ping 10.0.0.1", "neither hostd nor hostifd is running"},
		{kit.ModeExec, "traceroute 10.0.0.1 count 3", `Want `},
		{kit.ModeExec, "hostname leaf1", "This command belongs to (config)#: " + in + " first"},
		{kit.ModeExec, "interface Ethernet0", "This command belongs to (config)#: " + in + " first"},
		{kit.ModeExec, "no interface Vlan 10", "This command belongs to (config)#: " + in + " first"},
		{kit.ModeExec, "switch-id 7", in + ", then tam first"},
		{kit.ModeExec, "shutdown", in + ", then interface NAME first"},
		{kit.ModeExec, "do show vlan", `"do" is for configuration modes: leave it out here`},
		{kit.ModeConfig, "hostnmae leaf1", `did you mean "hostname"?`},
		{kit.ModeConfig, "mtu 9000", "type interface NAME first"},
		{kit.ModeConfig, "session s flowgroup web", "type tam, then "},
		{kit.ModeConfig, "interface Ethernt0", "No interface has the name or alias Ethernt0: did you mean \"Ethernet0\"?"},
		{kit.ModeConfig, "interface Vlan 5000", `"5000" is not a number from 1 to 4094`},
		{kit.ModeConfig, "interface breakout port Ethernet0 mode 3x25G", "such as 1x100G, 2x50G or 4x25G"},
		{kit.ModeTAM, "collector c ip 1.2.3 port 1", `"1.2.3" is not an IPv4 or IPv6 address`},
		{kit.ModeTAM, "collector c ip 10.0.0.1 port 65536", `"65536" is not a number from 1 to 65535`},
		{kit.ModeTAM, "collector c port 99", `Want ip`},
		{kit.ModeTAM, "no collector c9", "Collector c9 does not exist"},
		{kit.ModeTAM, "flow-grup web", `did you mean "flow-group"?`},
		{kit.ModeTAM, "flow-group g src-ip 300.1.1.1", "is not an IPv4 or IPv6 address or prefix"},
		{kit.ModeTAM, "flow-group g dst-l4-port 9-8", "such as 80 or 8000-8100"},
		{kit.ModeTAM, "flow-group g protocol tpc", "or one of: tcp, udp, icmp, icmpv6"},
		{kit.ModeInterface, "mtu 10000", `"10000" is not a number from 68 to 9216`},
		{kit.ModeInterface, "switchport access Vlan 77", "VLAN 77 does not exist"},
		{kit.ModeInterface, "channel-group 5", "Interface PortChannel5 does not exist"},
		{kit.ModeInterface, "min-links 2", "Ethernet0 has no min-links: it is for PortChannel"},
		{kit.ModeInterface, "flow-group nope", "Flow group nope does not exist"},
		{kit.ModeInterface, "description", "Incomplete command, expected <text>"},
	} {
		s.session.Mode, s.session.Interface = tt.mode, "Ethernet0"
		err := s.Exec(t.Context(), tt.line)
		if err == nil {
			t.Errorf("%s: no error, want %s", tt.line, tt.want)
		} else if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) {
			t.Errorf("%s: %v\nwant %s", tt.line, err, tt.want)
		}
	}
}
