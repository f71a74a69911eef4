package cli

import (
	"context"
)

// Roots of the tree.
const (
	tamRoot        = "openconfig-tam:tam"
	interfacesRoot = "openconfig-interfaces:interfaces"
	aclRoot        = "openconfig-acl:acl"
	vlansRoot      = "tamtam-interfaces:vlans"
	lldpRoot       = "openconfig-lldp:lldp"
)

var (
	inExec      = []mode{modeExec}
	inConfig    = []mode{modeConfig}
	inTAM       = []mode{modeTAM}
	inInterface = []mode{modeInterface}
)

// configuring are the modes below exec mode.
func configuring() (list []mode) {
	for _, p := range submodes() {
		list = append(list, p.mode)
	}
	return list
}

func anywhere() []mode { return append([]mode{modeExec}, configuring()...) }

// wordHelp explains keywords that occur in many commands.
var wordHelp = map[string]string{
	"no":                    "Remove or reset",
	"do":                    "Run a command of the exec mode",
	"show":                  "Show what is",
	"clear":                 "Have counters count from zero again",
	"tam":                   "Telemetry and monitoring",
	"counters":              "Counters",
	"interface":             "Ports and port channels",
	"breakout":              "Split a cage into several ports",
	"port":                  "Which port",
	"mode":                  "Ports and speed",
	"configure":             "Change the configuration",
	"terminal":              "From this session",
	"running-configuration": "The configuration, as the commands that make it",
	"switch-id":             "What names this switch in what it writes into packets",
	"enterprise-id":         "Who names the switches",
	"collector":             "Where reports go",
	"sampler":               "One packet in how many",
	"flow-group":            "Which packets are meant",
	"session":               "A flow group that is stamped",
	"switchport":            "VLANs of the interface",
	"Vlan":                  "VLAN",
	"PortChannel":           "Port channel",
	"Ethernet":              "Port",
}

// commandTable is every command of the shell. Parsing, abbreviation, help and
// completion follow from it.
func commandTable() []*command {
	table := []*command{
		{modes: anywhere(), form: seq(kw("exit", "Leave this mode; in exec mode, the shell")), do: exit},
		{modes: anywhere(), form: seq(kw("end", "Back to exec mode")), do: enter(modeExec)},
		{modes: inExec, form: seq("configure", opt(words("terminal")...)), do: enter(modeConfig)},
	}
	table = append(table, tamCommands()...)
	table = append(table, interfaceCommands()...)
	table = append(table, ipCommands()...)
	table = append(table, sflowCommands()...)
	table = append(table, rowCommands()...)
	table = append(table, systemCommands()...)
	table = append(table, configurationCommands()...)
	table = append(table, clearCommands()...)
	table = append(table, packetTraceCommand())
	table = append(table, showCommands()...)
	table = append(table, whyFlowCommand(), dropsCommand(""), dropsCommand("by"))
	return append(withWatch(table), pipeTable()...)
}

func enter(m mode) func(context.Context, *call) error {
	return func(_ context.Context, c *call) error {
		c.sh.mode = m
		return nil
	}
}

func exit(_ context.Context, c *call) error {
	m, more := c.sh.mode.parent()
	c.sh.mode, c.sh.finished = m, !more
	return nil
}
