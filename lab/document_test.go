package lab

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tamtam/internal/racetest"
)

const good = `
experiment: x
switches:
- name: s1
  config: &c
    PORT:
      Ethernet0: {lanes: "1", speed: "100000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "100000", admin_status: up}
- {name: s2, config: *c}
hosts:
- {name: h1, ips: [10.0.0.1/24]}
- {name: h2, ips: [10.0.0.2/24]}
links:
- {name: l1, a: h1, b: "s1:Ethernet0"}
- {name: l2, a: h2, b: "s2:Ethernet0"}
- {name: l3, a: "s1:Ethernet4", b: "s2:Ethernet4"}
traffic:
- {name: web, from: h1, to: h2, rate: 1Gbps}
checks:
- {name: all, measured: flow.web.received, want: 3}
`

// Errors name file, line, object, field, value, and what would be valid.
func TestErrorsName(t *testing.T) {
	tests := []struct {
		name     string
		old, new string
		want     []string
	}{
		{"unknown field", "name: l1,", "name: l1, dleay: 5us,", []string{
			"f.yaml:14: links[l1].dleay: unknown field, want one of a, b, burst, corrupt, delay,"}},
		{"a field twice", "name: l1,", "name: l1, name: l1,", []string{"f.yaml:14: links[l1].name: given twice"}},
		{"time without unit", "name: l1,", "name: l1, delay: 5,", []string{
			`f.yaml:14: links[l1].delay: "5": want a time with its unit`}},
		{"negative delay", "name: l1,", "name: l1, delay: -5us,", []string{
			`f.yaml:14: links[l1].delay: "-5us": want 0s to 100s`}},
		{"rate", "rate: 1Gbps", "rate: fast", []string{`f.yaml:18: traffic[web].rate: "fast": want a rate with its unit`}},
		{"probability", "name: l1,", "name: l1, loss: 2,", []string{`links[l1].loss: "2": want a probability from 0 to 1`}},
		{"address", "10.0.0.1/24", "10.0.0/24",
			[]string{`f.yaml:11: hosts[h1].ips[0]: "10.0.0/24": want an address with its prefix length`}},
		{"no such host", "from: h1", "from: h9", []string{`f.yaml:18: traffic[web].from: "h9": want the name of a host`}},
		{"no such switch", `"s2:Ethernet4"`, `"s9:Ethernet4"`, []string{
			`f.yaml:16: links[l3].b: "s9:Ethernet4": want SWITCH:PORT or a host`}},
		{"zero delay between switches", "name: l3,", "name: l3, delay: 0ns,",
			[]string{`f.yaml:16: links[l3].delay: "0ps": want more than 0: two switches are simulated at once`}},
		{"zero delay, later", "checks:", "events:\n- {at: 1ms, do: impair, link: l3, impair: {}}\nchecks:",
			[]string{`links[l3].delay: "0ps": want more than 0`}},
		{"a host without a link", "- {name: l1, a: h1,", "- {name: l1, a: h2,",
			[]string{`hosts[h1]: "h1": want exactly one link with this end, it has 0`,
				`hosts[h2]: "h2": want exactly one link`}},
		{"a link of hosts", `b: "s1:Ethernet0"`, "b: h2", []string{"links[l1]", "want at least one end at a switch"}},
		{"too small", "rate: 1Gbps", "rate: 1Gbps, size: 63", []string{
			`traffic[web].size: "63": want 64 to 9416 bytes, FCS included`}},
		{"sizes", "rate: 1Gbps", "rate: 1Gbps, size: {list: [64, 128], weights: [1]}",
			[]string{"traffic[web].size.weights: \"[1]\": want one weight for each of list"}},
		{"kind", "rate: 1Gbps", "rate: 1Gbps, kind: bursty", []string{
			`traffic[web].kind: "bursty": want constant, poisson, onoff, spaced or pcap`}},
		{"rate and pps", "rate: 1Gbps", "rate: 1Gbps, pps: 5", []string{"traffic[web].rate", "want one of rate and pps"}},
		{"event", "checks:", "events:\n- {at: 1ms, do: explode, switch: s1}\nchecks:",
			[]string{`events[0].do: "explode": want down, up, impair, restart`}},
		{"config row", "checks:", "events:\n- {at: 1ms, do: config, switch: s1, set: {VLAN: {vlanid: 5}}}\nchecks:",
			[]string{`events[0].set: "VLAN": want TABLE|key`}},
		{"config", `lanes: "1"`, `lanes: {a: b}`, []string{"f.yaml:5: switches[s1].config:", `field "lanes"`,
			"want a string or a list of strings"}},
		{"measure", "checks:", "measure:\n- {switch: s1, what: temperature, every: 1us}\nchecks:",
			[]string{`measure[0].what: "temperature": want buffer-bytes, clock-error`}},
		{"streamed measure", "checks:",
			"measure:\n- {switch: s1, what: IF_OUT_OCTETS, object: Ethernet0, every: 1us}\nchecks:",
			[]string{`measure[0].every: "1us": want none beside object`}},
		{"bounds of a measure", "checks:",
			"measure:\n- {switch: s1, what: sent, port: Ethernet0, every: 1us, until: 1ms}\nchecks:",
			[]string{`measure[0].until: "1ms": want none: only a series of an object has bounds`}},
		{"name", "name: h1", "name: ../h1", []string{`hosts[../h1].name: "../h1": want a name of letters, digits, - and _`}},
		{"master", "{name: s2,", "{name: s2, clock: {ptp: {master: s2}},",
			[]string{`switches[s2].clock.ptp.master: "s2": want the name of another switch`}},
		{"not YAML", "checks:", "\tchecks:", []string{"f.yaml: yaml: line"}},
		{"alias of itself", "checks:", "x-a: &a [*a]\nchecks: *a\nx-b:", []string{"checks"}},
	}
	if _, err := Parse("f.yaml", []byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			if text == good {
				t.Fatal("nothing was replaced")
			}
			_, err := Parse("f.yaml", []byte(text), nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error\n%v\nwants %s", err, w)
				}
			}
		})
	}
}

// Errors that only appear when the switches exist are named as well.
func TestNewNames(t *testing.T) {
	racetest.Stepped(t)
	tests := []struct{ name, old, new, want string }{
		{"no such port", `"s1:Ethernet4"`, `"s1:Ethernet5"`,
			`f.yaml:14: link "l3": "s1:Ethernet5": the switch has no port "Ethernet5"; it has Ethernet0, Ethernet4`},
		{"no such profile", "{name: s2,", "{name: s2, profile: huge,", `f.yaml:9: switch "s2": profile "huge"`},
		{"rate of the ports", "name: l1,", "name: l1, rate: 10Gbps,",
			`f.yaml:14: link "l1": rate 10Gbps: its ports run at 100000Mbps`},
		{"no such capture", "rate: 1Gbps", "kind: pcap, file: missing.pcap", `f.yaml:18: capture: open missing.pcap`},
		{"no such metric", "flow.web.received", "flow.web.recieved",
			`f.yaml:20: checks[all]: measured: "flow.web.recieved": no such metric; there are flow.NAME.(sent`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			top, err := Parse("f.yaml", []byte(text), nil)
			if err == nil {
				top.Duration = 100 * Microsecond
				_, err = Run(t.Context(), top, Options{Workers: 1})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %s", err, tt.want)
			}
		})
	}
}

// Set changes values of the file, by names and numbers.
func TestSet(t *testing.T) {
	top, err := Parse("f.yaml", []byte(good), []string{"traffic.web.rate=3Gbps", "links.1.delay=7us",
		"traffic.0.size=imix", "seed=9", "links.l3.jitter.max=1us"})
	if err != nil {
		t.Fatal(err)
	}
	f, l := top.Traffic[0], top.Links
	if f.Rate != 3e9 || l[1].Delay != 7*Microsecond || len(f.Size.List) != 3 || top.Seed != 9 ||
		l[2].Jitter.Max != Microsecond {
		t.Errorf("set gave %+v, %+v, seed %d", f, l, top.Seed)
	}
	for _, bad := range []string{"traffic", "=3", "traffic.smtp.rate=1Gbps", "seed.x=3", "links.l1.delay=",
		"traffic.web.rate=[", "seed=-1"} {
		if _, err := Parse("f.yaml", []byte(good), []string{bad}); err == nil {
			t.Errorf("set %q: no error", bad)
		}
	}
}

// Set changes only the value that its path names, and no other user of the same anchor, alias or merge. Below x-... it
// changes the value for all users.
func TestSetOfAliases(t *testing.T) {
	const text = `
x-ports: &ports {Ethernet0: {speed: "1"}, Ethernet4: {speed: "1"}}
x-more: &more {<<: *ports, Ethernet8: {speed: "1"}}
switches:
- {name: a, config: {PORT: *ports}}
- {name: b, config: {PORT: *ports}}
- {name: c, config: &own {PORT: {Ethernet0: {speed: "1"}}}}
- {name: d, config: *own}
- {name: e, config: {PORT: {<<: [*more, {Ethernet0: {speed: "7"}}], Ethernet12: {speed: "1"}}}}
- &f {name: f, config: {PORT: {Ethernet0: {speed: "1"}}}}
- *f
`
	for set, want := range map[string]map[string]string{
		"switches.a.config.PORT.Ethernet0.speed=2": {"a": "2"},
		"switches.c.config.PORT.Ethernet0.speed=2": {"c": "2"},
		"switches.d.config.PORT.Ethernet0.speed=2": {"d": "2"},
		"switches.e.config.PORT.Ethernet0.speed=2": {"e": "2"},
		"switches.5.config.PORT.Ethernet0.speed=2": {"5": "2"},
		"switches.6.config.PORT.Ethernet0.speed=2": {"6": "2"},
		"x-ports.Ethernet0.speed=2":                {"a": "2", "b": "2", "e": "2"},
	} {
		var root yaml.Node
		if err := yaml.Unmarshal([]byte(text), &root); err != nil {
			t.Fatal(err)
		}
		d := &document{root: root.Content[0], lines: map[string]int{}}
		if err := d.set(set); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Switches []struct {
				Config struct {
					PORT map[string]map[string]string `yaml:"PORT"`
				}
			}
		}
		if err := root.Decode(&got); err != nil {
			t.Fatal(err)
		}
		for i, s := range got.Switches {
			name := []string{"a", "b", "c", "d", "e", "5", "6"}[i]
			if ports := s.Config.PORT; ports["Ethernet0"]["speed"] != cmp.Or(want[name], "1") || name != "c" && name != "d" &&
				name != "5" && name != "6" && ports["Ethernet4"]["speed"] != "1" {
				t.Errorf("set %s: switch %s has ports %v, want Ethernet0 of speed %s", set, name, ports, cmp.Or(want[name], "1"))
			}
		}
	}
	deep := "x-a: &a {<<: *a}\nswitches: *a"
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(deep), &root); err != nil {
		t.Fatal(err)
	}
	d := &document{root: root.Content[0], lines: map[string]int{}}
	if err := d.set("switches.a.b=1"); err != nil {
		t.Error(err)
	}
}

// Parse rejects any topology with an error, or accepts it, and never panics.
func FuzzParse(f *testing.F) {
	f.Add(good, "traffic.web.rate=3Gbps")
	f.Add("x-a: &a {b: &b [*a]}\nswitches: *b", "seed=1")
	f.Add("switches: [{name: s, config: {<<: [{A: {b: {}}}, {}]}}]", "switches.s.name=[1]")
	files, err := filepath.Glob("experiments/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, _ := os.ReadFile(name)
		f.Add(string(text), "duration=1ms")
	}
	f.Fuzz(func(t *testing.T, text, set string) {
		if top, err := Parse("f.yaml", []byte(text), []string{set}); err == nil && top.Validate() != nil {
			t.Error("taken, but not valid")
		}
	})
}
