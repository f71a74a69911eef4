package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
)

// SONiC has a second set of commands, its Click commands: "config tam collector add c1 ...", "show interfaces
// counters". In exec mode the shell accepts them besides its own commands. Help and TAB offer only the shell's own.

// A click is a command of SONiC's Click set, with the equivalent lines that the shell runs in exec mode. In both, {x}
// stands for one word, and {*} for any remaining words.
type click struct{ theirs, ours string }

func clicks() []click {
	list := []click{
		{"show interfaces counters -i {i}", "show interface counters {i}"},
		{"show interfaces counters --interface {i}", "show interface counters {i}"},
		{"show interfaces counters trim {*}", "show interface trim-counters {*}"},
		{"show queue counters --trim", "show queue counters"}, {"show queue counters {i} --trim", "show queue counters {i}"},
		{"show queue counters --all", "show queue counters"}, {"show queue counters {i} --all", "show queue counters {i}"},
		{"show switch counters all", "show switch counters"}, {"show switch counters trim", "show switch counters"},
		{"show interfaces {*}", "show interface {*}"},
		{"show ip interfaces", "show ip interface"}, {"show ipv6 interfaces", "show ipv6 interface"},
		{"show runningconfiguration all", "show running-configuration"},
		{"show mirror_session {*}", "show mirror-session {*}"},
		{"show acl table", "show access-list"}, {"show acl rule", "show access-list"},
		{"show vlan brief", "show vlan"}, {"show lldp table", "show lldp neighbors"}, {"show mac", "show mac address-table"},
		{"show techsupport", "show tech-support"},
		{"sonic-clear counters", "clear interface counters"}, {"sonic-clear queuecounters", "clear queue counters"},
		{"show buffer_pool {*}", "show buffer-pool {*}"}, {"sonic-clear buffer_pool {*}", "clear buffer-pool {*}"},
		{"sonic-clear buffer-pool {*}", "clear buffer-pool {*}"},
		{"sonic-clear headroom-pool {*}", "clear headroom-pool {*}"},
		{"sonic-clear priority-group {*}", "clear priority-group {*}"}, {"sonic-clear queue {*}", "clear queue {*}"},
		{"sonic-clear pfccounters", "clear pfc counters"},
		{"sonic-clear acl-counters", "clear access-list counters"}, {"sonic-clear dropcounters", "clear dropcounters"},
		{"show dropcounters configuration -g {n}", "show dropcounters configuration group {n}"},
		{"show dropcounters counts -g {n}", "show dropcounters counts group {n}"},
		{"show dropcounters counts -t {t}", "show dropcounters counts type {t}"},
		{"config dropcounters delete {n}", "configure\nno drop-counter {n}"},
		{"config save", "write memory"}, {"config save -y", "write memory"},
		{"config reload", "copy startup-configuration running-configuration"},
		{"config reload -y", "copy startup-configuration running-configuration"},
		{"config rollback {n}", "rollback {n}"},
		{"config interface shutdown {i}", "configure\ninterface {i}\nshutdown"},
		{"config interface startup {i}", "configure\ninterface {i}\nno shutdown"},
		{"config interface mtu {i} {n}", "configure\ninterface {i}\nmtu {n}"},
		{"config interface breakout {i} {m}", "configure\ninterface breakout port {i} mode {m}"},
		{"config interface ip add {i} {p}", "configure\ninterface {i}\nip address {p}"},
		{"config interface ip remove {i} {p}", "configure\ninterface {i}\nno ip address {p}"},
		{"config vlan add {n}", "configure\ninterface Vlan {n}"},
		{"config vlan del {n}", "configure\nno interface Vlan {n}"},
		{"config vlan member add -u {n} {i}", "configure\ninterface {i}\nswitchport access Vlan {n}"},
		{"config vlan member add {n} {i}", "configure\ninterface {i}\nswitchport trunk allowed Vlan {n}"},
		{"config hostname {n}", "configure\nhostname {n}"},
		{"config mirror_session remove {n}", "configure\nno mirror-session {n}"},
		{"config sflow enable", "configure\nsflow admin-state up"},
		{"config sflow disable", "configure\nsflow admin-state down"},
		{"config sflow polling-interval {n}", "configure\nsflow polling-interval {n}"},
		{"config sflow sample-direction {d}", "configure\nsflow sample-direction {d}"},
		{"config sflow drop-monitor-limit {n}", "configure\nsflow drop-monitor-limit {n}"},
		{"config sflow agent-id add {i}", "configure\nsflow agent-id {i}"},
		{"config sflow agent-id del", "configure\nno sflow agent-id"},
		{"config sflow collector del {n}", "configure\nno sflow collector {n}"},
		{"config sflow interface enable {i}", "configure\nsflow interface {i} admin-state up"},
		{"config sflow interface disable {i}", "configure\nsflow interface {i} admin-state down"},
		{"config sflow interface sample-rate {i} default", "configure\nno sflow interface {i} sample-rate"},
		{"config sflow interface sample-rate {i} {n}", "configure\nsflow interface {i} sample-rate {n}"},
		{"config sflow interface sample-direction {i} {d}", "configure\nsflow interface {i} sample-direction {d}"},
		{"config tam switch-id {n}", "configure\ntam\nswitch-id {n}"},
		{"config tam enterprise-id {n}", "configure\ntam\nenterprise-id {n}"},
	}
	add := func(theirs, mode, word string) {
		list = append(list,
			click{"config tam " + theirs + " add {n} {*}", mode + word + " {n} {*}"},
			click{"config tam " + theirs + " del {n}", mode + "no " + word + " {n}"},
			click{"config tam " + theirs + " remove {n}", mode + "no " + word + " {n}"})
	}
	for _, o := range []tam.Object{tam.Collector, tam.Sampler, tam.FlowGroup} {
		add(o.Word, "configure\ntam\n", o.Word)
	}
	for _, f := range tam.Features() {
		mode := "configure\ntam\n" + f.Word + "\n"
		list = append(list, click{"config tam " + f.Word + " enable", mode + "enable"},
			click{"config tam " + f.Word + " disable", mode + "no enable"})
		for _, o := range f.Objects {
			add(f.Word+" "+o.Word, mode, o.Word)
		}
	}
	return list
}

// translated returns the shell's lines for a command of SONiC, or nil if tokens are no such command. The error is the
// reason why there is no equivalent.
func translated(tokens []kit.Token, all []click) ([]string, error) {
	for _, f := range clickForms() {
		words := strings.Fields(f.theirs)
		if _, ok := matched(tokens[:min(len(words), len(tokens))], words); ok {
			return f.lines(texts(tokens[len(words):]))
		}
	}
	for _, c := range all {
		values, ok := matched(tokens, strings.Fields(c.theirs))
		if !ok {
			continue
		}
		var lines []string
		for line := range strings.SplitSeq(c.ours, "\n") {
			for name, v := range values {
				line = strings.ReplaceAll(line, name, v)
			}
			lines = append(lines, strings.TrimSpace(line))
		}
		return lines, nil
	}
	return nil, nil
}

func texts(tokens []kit.Token) (list []string) {
	for _, t := range tokens {
		list = append(list, t.Text)
	}
	return list
}

// matched returns the values of a pattern's parameters, as they were typed.
func matched(tokens []kit.Token, pattern []string) (map[string]string, bool) {
	values := map[string]string{}
	for i, p := range pattern {
		switch {
		case p == "{*}":
			var rest []string
			for _, t := range tokens[min(i, len(tokens)):] {
				rest = append(rest, typed(t))
			}
			values[p] = strings.Join(rest, " ")
			return values, true
		case i >= len(tokens):
			return nil, false
		case strings.HasPrefix(p, "{"):
			if strings.HasPrefix(tokens[i].Text, "-") {
				return nil, false
			}
			values[p] = typed(tokens[i])
		case tokens[i].Quoted || tokens[i].Text != p:
			return nil, false
		}
	}
	return values, len(tokens) == len(pattern)
}

// typed returns a token in the form in which it can be typed.
func typed(t kit.Token) string {
	if t.Quoted {
		return kit.Quote(t.Text)
	}
	return t.Text
}

// runTranslated runs the lines in exec mode, and then returns to the present mode.
func (s *Shell) runTranslated(ctx context.Context, lines []string, pipes string) error {
	defer func() { s.session.Mode, s.session.Interface = kit.ModeExec, "" }()
	for i, line := range lines {
		if i == len(lines)-1 {
			line += pipes
		}
		var syntax *kit.SyntaxError
		if err := s.runOwn(ctx, line); errors.As(err, &syntax) {
			return fmt.Errorf("%s: %s", syntax.Reason, strings.TrimSpace(line))
		} else if err != nil {
			return err
		}
	}
	return nil
}
