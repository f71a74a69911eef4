package cli

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"tamtam/internal/randtest"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
	"tamtam/cli/tree"

	"github.com/google/go-cmp/cmp"
)

// valueOf returns a random value of a leaf in the form of the running configuration. For kinds without choices the
// label selects the examples. Addresses are of one family, since a flow group has only one.
func valueOf(t *testing.T, rnd *rand.Rand, k *kit.Kind) string {
	t.Helper()
	if examples, ok := map[string][]string{
		"<name>":                         {"n1", "n2", `a"b`},
		"<text>":                         {"spine", "to spine 1", `back\slash "quoted"`},
		"<A.B.C.D | A:B::C>":             {"10.0.0.1", "2001:db8::1"},
		"<A.B.C.D[/len] | A:B::C[/len]>": {"2001:db8::/32", "2001:db8::7"},
		"<H:H:H:H:H:H[/mask]>":           {"00:11:22:33:44:55", "00:11:22:00:00:00/ff:ff:ff:00:00:00"},
		"<0x600-0xffff>":                 {"0x0800", "0x86dd", "0x0806"},
		"<0-65535 | low-high>":           {"0", "80", "1000-2000"},
		"<fin,syn,rst,psh,ack,urg>":      {"syn", "syn,ack"},
		"<-10-8>":                        {"-10", "0", "8"},
		"<FIELD,...>":                    {"none", "src-ip/24,dst-port"},
		"<FIELD=VALUE,...>":              {"any", "src-ip=10.0.0.0/8,dst-port=1-9"},
		"<VALUE,...>":                    {"10.0.0.1,80", "::1"},
		"<distinct(KEY) | existence(KEY) | similarity(KEY)>": {"frequency", "distinct(src-ip)"},
		"<1 | 1/2 | 1/4 ... 1/128>":                          {"1", "1/8"},
		"<WIDTH+WIDTH...>":                                   {"16+16", "8+16+32"},
		"<0 | 64-9216>":                                      {"0", "128", "64"},
		"<TABLE,...>":                                        {"chip.acl", "chip.acl,ingress.b"},
		"<NAME[,NAME]>":                                      {"a", "a,b"},
	}[k.Label]; ok {
		return examples[rnd.IntN(len(examples))]
	}
	if low, high, ok := strings.Cut(strings.Trim(k.Label, "<>"), "-"); ok {
		from, err := strconv.ParseUint(low, 10, 64)
		to, err2 := strconv.ParseUint(high, 10, 64)
		if err == nil && err2 == nil {
			return strconv.FormatUint([]uint64{from, to, from + rnd.Uint64N(to-from+1)}[rnd.IntN(3)], 10)
		}
	}
	if len(k.Choices) == 0 {
		t.Fatalf("no example of %s: write one for each new kind", k.Label)
	}
	return k.Choices[rnd.IntN(len(k.Choices))].Word
}

// leafCommand is a leaf with a value: its words in a command, and in the running configuration.
type leafCommand struct {
	kit.Leaf
	said, written string
}

// randomCommands returns a random selection of the leaves, with values. It always includes leaves that a command
// requires, and leaves to which the switch would give a value. It includes each other leaf with a probability of two
// thirds.
func randomCommands(t *testing.T, rnd *rand.Rand, leaves []kit.Leaf, defaults bool) (out []leafCommand) {
	for _, l := range leaves {
		must := l.Need || l.Fill != "" || l.Word == tam.GroupID.Word
		if l.Word == "" || l.Alias || !must && rnd.IntN(3) == 0 {
			continue
		}
		words := l.Word
		written := words
		if l.Kind != nil {
			v := valueOf(t, rnd, l.Kind)
			for v == l.Default && !defaults || l.Word == "ip-version" && v != "ipv6" {
				v = valueOf(t, rnd, l.Kind)
			}
			words += " " + kit.Quote(v)
			if written = words; v == l.Default {
				written = ""
			}
		}
		out = append(out, leafCommand{l, words, written})
	}
	return out
}

// commandOf returns the command of an entry with its optional words in random order, and in the form of the running
// configuration.
func commandOf(rnd *rand.Rand, o tam.Object, name string, leaves []leafCommand) (said, written string) {
	var needed, others []leafCommand
	for _, c := range leaves {
		if c.Need {
			needed = append(needed, c)
		} else {
			others = append(others, c)
		}
	}
	said = o.Word + " " + kit.Quote(name)
	written = said
	for _, c := range append(needed, others...) {
		if c.written != "" {
			written += " " + c.written
		}
	}
	rnd.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	for _, c := range append(needed, others...) {
		said += " " + c.said
	}
	return said, written
}

// modeOf returns the mode with an object's command.
func modeOf(o tam.Object) kit.Mode {
	for _, f := range tam.Features() {
		for _, its := range f.Objects {
			if its.Container == o.Container {
				return f.Mode()
			}
		}
	}
	return kit.ModeTAM
}

// leafPlaces contains the leaves outside of lists, and the words that precede their own words.
var leafPlaces = []struct {
	mode   kit.Mode
	prefix string
	leaves []kit.Leaf
}{{kit.ModeTAM, "", tam.SwitchLeaves}, {kit.ModeInterface, "", interfaceLeaves},
	{kit.ModeConfig, "mac address-table ", []kit.Leaf{agingTime}}}

// onePort is a switch with a single port.
const onePort = `{"interfaces":{"interface":[{"name":"Ethernet0","config":{"name":"Ethernet0"}}]}}`

// Every described leaf can be set. The running configuration contains it in the words of that command, and restores the
// same tree on an empty switch. Show commands display it, and "no" removes it.
func TestLeaves(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 40, Short: 8}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := newSession(t)
		s.server.load(t, onePort)
		defaults := rnd.IntN(2) == 0
		want := map[string]bool{}      // lines of the running configuration
		taken := map[string]kit.Mode{} // commands that remove everything, with their modes
		do := func(m kit.Mode, line string) { s.session.Mode, s.session.Interface = m, "Ethernet0"; s.do(t, line) }
		for _, at := range leafPlaces {
			for _, c := range randomCommands(t, rnd, at.leaves, defaults) {
				do(at.mode, at.prefix+c.said)
				taken["no "+at.prefix+c.Word] = at.mode
				want[at.prefix+c.written] = c.written != ""
			}
		}
		for _, o := range allObjects() {
			for _, name := range []string{"n1", `odd"name`} {
				commands := randomCommands(t, rnd, o.Leaves, defaults)
				said, written := commandOf(rnd, o, name, commands)
				do(modeOf(o), said)
				taken["no "+o.Word+" "+kit.Quote(name)+" in "+o.Container] = modeOf(o)
				want[written] = true
				checkShown(t, s, o, name, commands)
			}
		}

		text := s.do(t, "do show running-configuration")
		lines := map[string]int{}
		for line := range strings.Lines(text) {
			lines[strings.TrimSpace(line)]++
		}
		for line, is := range want {
			if is != (lines[line] > 0) {
				t.Errorf("the line %q: %v, want %v in\n%s", line, !is, is, text)
			}
		}

		other := newSession(t)
		other.server.load(t, onePort)
		if err := other.ExecScript(t.Context(), "running", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, other.do(t, "show running-configuration")); diff != "" {
			t.Errorf("running configuration of the other switch (-here +there):\n%s", diff)
		}
		if diff := cmp.Diff(s.server.snapshot(t), other.server.snapshot(t)); diff != "" && !defaults {
			t.Errorf("tree of the other switch (-here +there):\n%s", diff)
		}

		for line, m := range taken {
			line, _, _ = strings.Cut(line, " in ")
			do(m, line)
		}
		empty := strings.Replace(s.do(t, "do show running-configuration"), " no shutdown\n", "", 1)
		if empty != "configure terminal\ninterface Ethernet0\n!\nend\n" {
			t.Errorf("after all was taken back:\n%s", empty)
		}
	})
}

// checkShown checks that the labels of an entry's configured leaves are displayed.
func checkShown(t *testing.T, s *session, o tam.Object, name string, commands []leafCommand) {
	t.Helper()
	for _, e := range o.Entries((tree.Of(s.server.tree)).At("tam")) {
		if e.Name() != name {
			continue
		}
		var p kit.Printout
		p.Leaves(20, e, o.Leaves...)
		for _, c := range commands {
			if c.written != "" && !strings.Contains(p.String(), c.Label) {
				t.Errorf("%s is configured by %q, but not shown:\n%s", o.Word, c.said, &p)
			}
		}
		return
	}
	t.Errorf("no %s %s", o.Word, name)
}

// "no flow-group" removes single fields.
func TestFlowGroupFields(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 50, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := newSession(t)
		commands := randomCommands(t, rnd, tam.FlowGroup.Leaves, true)
		said, _ := commandOf(rnd, tam.FlowGroup, "g", commands)
		s.session.Mode = kit.ModeTAM
		s.do(t, said)
		left := commands[:1] // the id is not removed
		gone := "no flow-group g"
		for _, c := range commands[1:] {
			if rnd.IntN(2) == 0 {
				gone += " " + c.Word
			} else {
				left = append(left, c)
			}
		}
		if gone == "no flow-group g" {
			return
		}
		s.do(t, gone)
		_, want := commandOf(rnd, tam.FlowGroup, "g", left)
		if got := s.do(t, "do show running-configuration tam"); !strings.Contains(got, " "+want+"\n") {
			t.Errorf("after %s and %s, want %s:\n%s", said, gone, want, got)
		}
	})
}

// allObjects returns all kinds of objects below tam.
func allObjects() []tam.Object {
	out := []tam.Object{tam.Collector, tam.Sampler, tam.FlowGroup}
	for _, f := range tam.Features() {
		out = append(out, f.Objects...)
	}
	return out
}
