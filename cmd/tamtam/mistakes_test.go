package main

import (
	"testing"

	"tamtam/internal/command"
)

// A typical mistake in a command line gets an error that has what is wrong, and what to do.
func TestMistakes(t *testing.T) {
	const usage, failed = command.ExitUsage, command.ExitFailed
	for _, l := range []line{
		{"dcotor", usage, `unknown command "dcotor"; did you mean doctor?`},
		{"show vlan", usage, `unknown command "show"; ` + "`tamtam --help` lists them"},
		{"run orchagnet", usage, `unknown command "orchagnet" of tamtam run; did you mean orchagent?`},
		{"decode tailstmap x.pcap", usage, "did you mean tailstamp?"},
		{"config lod x", usage, "did you mean load?"},
		{"up --confg x", usage, "unknown flag: --confg; did you mean --config?"},
		{"cli --comand exit", usage, "did you mean --command?"},
		{"cli show vlan", usage, `unknown command "show" for "tamtam cli"; usage: tamtam cli [flags]`},
		{"cli --every 10ms -c ?", usage, "want 100ms or more"},
		{"cli --data /nonexistent -c exit", failed, "--data /nonexistent: no switch runs there"},
		{"health --data /nonexistent", failed, "--data /nonexistent: no switch runs there"},
		{"doctor --data /nonexistent", failed, "--data /nonexistent: no switch runs there"},
		{"cli --target nowhere -c exit", failed, "want HOST:PORT or unix:/PATH"},
		{"cli --target localhost:1 --insecure --tls-ca x -c exit", failed, "give one or the other"},
		{"subscribe", usage, "usage: tamtam subscribe PATH..."},
		{"up --port eth1", usage, "want PORT=INTERFACE, as in Ethernet0=eth1"},
		{"up --profile nope", usage, "want one of access48, default,"},
		{"up --http 8088", usage, "want HOST:PORT, such as localhost:8088"},
		{"up --redis nowhere", usage, "want host:port or unix:/path"},
		{"up --gnmi 0.0.0.0:8080", usage, "can be reached by other hosts"},
		{"collect tailstamp", usage, "accepts 1 arg(s), received 0; usage: tamtam collect tailstamp INTERFACE"},
		{"profile show defualt", failed, "want one of access48, default,"},
	} {
		try(t, "", l)
	}
}
