package cli

import (
	"context"
	"io"

	"tamtam/cli/kit"
	"tamtam/cli/ping"
	"tamtam/cli/sflow"
	"tamtam/cli/tam"
)

// Roots of the paths in the tree that commands use.
const (
	aclRoot   = "openconfig-acl:acl"
	vlansRoot = "tamtam-interfaces:vlans"
	lldpRoot  = "openconfig-lldp:lldp"
)

// submodes returns the modes below exec mode.
func submodes() []kit.Submode {
	list := []kit.Submode{
		{Mode: kit.ModeConfig, Parent: kit.ModeExec, Prompt: "(config)", Enter: "configure terminal"},
		{Mode: kit.ModeTAM, Parent: kit.ModeConfig, Prompt: "(config-tam)", Enter: "tam"},
	}
	for _, f := range tam.Features() {
		list = append(list, kit.Submode{
			Mode: f.Mode(), Parent: kit.ModeTAM, Prompt: "(config-tam-" + f.Prompt + ")", Enter: f.Word,
		})
	}
	return append(list, kit.Submode{
		Mode: kit.ModeInterface, Parent: kit.ModeConfig, Prompt: "(conf-if-IFACE)", Enter: "interface NAME",
	})
}

// anywhere returns exec mode and the modes below it.
func anywhere(below []kit.Submode) []kit.Mode {
	list := []kit.Mode{kit.ModeExec}
	for _, m := range below {
		list = append(list, m.Mode)
	}
	return list
}

// commandTable returns all commands of the shell. They define parsing, abbreviation, help and completion.
func commandTable(below []kit.Submode) []*kit.Command {
	table := []*kit.Command{
		{Modes: anywhere(below), Form: kit.Seq(kit.Keyword("exit", "Leave this mode; in exec mode, the shell")), Do: exit},
		{Modes: anywhere(below), Form: kit.Seq(kit.Keyword("end", "Back to exec mode")), Do: kit.Enter(kit.ModeExec)},
		{Modes: anywhere(below), Form: kit.Seq(kit.Keyword("help", "How to use the shell")), Do: help},
		{Modes: kit.InExec, Form: kit.Seq("configure", kit.Opt(kit.Words("terminal")...)), Do: kit.Enter(kit.ModeConfig)},
	}
	table = append(table, tam.Commands()...)
	table = append(table, interfaceCommands()...)
	table = append(table, ipCommands()...)
	table = append(table, sflow.Commands()...)
	table = append(table, rowCommands()...)
	table = append(table, systemCommands()...)
	table = append(table, configurationCommands()...)
	table = append(table, clearCommands()...)
	table = append(table, packetTraceCommand())
	table = append(table, ping.Commands()...)
	table = append(table, showCommands()...)
	table = append(table, whyFlowCommand(), dropsCommand(""), dropsCommand("by"))
	return append(withWatch(table), kit.PipeTable()...)
}

func exit(_ context.Context, c *kit.Call) error {
	m, more := c.Session.Grammar.Parent(c.Session.Mode)
	c.Session.Mode, c.Session.Finished = m, !more
	return nil
}

// usage is what help explains besides the commands.
const usage = `? anywhere in a line lists what may follow, for example: show ?
TAB completes a word. Words may be abbreviated: sh int st
no before a command removes or resets what it configures.
do before a command of exec mode runs it in another mode.
| behind a show command filters its output, for example: show vlan | include 10
Ctrl-R finds an earlier line. Ctrl-C discards a line, or ends a command.

Commands here:
`

// help prints how to use the shell, and the commands of the present mode.
func help(ctx context.Context, c *kit.Call) error {
	_, err := io.WriteString(c.Session.Config.Out, usage)
	c.Session.Help(ctx)
	return err
}
