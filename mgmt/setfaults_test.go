package mgmt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
)

const (
	samplerList = "/tam/samplers"
	interfaces  = "/interfaces"
)

func sampler(name string) string { return samplerList + "/sampler[name=" + name + "]" }

func collector(name string) string { return collectors + "/collector[name=" + name + "]" }

func flowgroup(name string) string { return flowgroups + "/flowgroup[name=" + name + "]" }

func tailstamp(name string) string { return sessions + "/tailstamping-session[name=" + name + "]" }

func port(name string) string { return interfaces + "/interface[name=" + name + "]" }

func uses(s, f string) *gpb.Update { return update(tailstamp(s)+"/config/flowgroup", `"`+f+`"`) }

func deletes(p ...string) (d []*gpb.Path) {
	for _, x := range p {
		d = append(d, path(x))
	}
	return d
}

// wantFaults executes a Set that must fail with these errors, in order, and change nothing. Each of want is the
// beginning of an error, "..." and its end.
func (b *bed) wantFaults(t *testing.T, req *gpb.SetRequest, code string, want ...string) {
	t.Helper()
	before := b.config()
	_, err := b.client.Set(b.ctx, req)
	wantErr(t, err, code)
	wantBounded(t, err)
	got := strings.Split(status.Convert(err).Message(), "\n")
	fits := func(got, want string) bool {
		begin, end, cut := strings.Cut(want, "...")
		return got == want || cut && strings.HasPrefix(got, begin) && strings.HasSuffix(got, end)
	}
	if !slices.EqualFunc(got, want, fits) {
		t.Errorf("errors are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if after := b.config(); after != before {
		t.Errorf("CONFIG_DB changed from\n%s\nto\n%s", before, after)
	}
}

// mostErrors is how many errors of a Set are reported.
const mostErrors = 20

// wantBounded checks that a client can receive the error, which is sent in a header.
func wantBounded(t *testing.T, err error) {
	t.Helper()
	text := status.Convert(err).Message()
	odd := func(c byte) bool { return c < ' ' || c > '~' || c == '%' } // it needs three bytes in the header
	n := len(text)
	for i := range len(text) {
		if odd(text[i]) {
			n += 2
		}
	}
	if n > 8000 || strings.Count(text, "\n") > 20 {
		t.Errorf("the error is %d bytes on the way, and %d lines", n, strings.Count(text, "\n")+1)
	}
}

// Whatever kinds of errors a Set mixes, all are reported, in its order. Errors that only follow from others are not.
func TestAllFaults(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.wantFaults(t, &gpb.SetRequest{
		Delete: deletes("/tam/colectors", port("Ethernet0")+"/state"),
		Replace: []*gpb.Update{
			update(port("Ethernet4")+"/config", `{"mtu":1500,"type":"ieee8023adLag"}`),
			update(port("Ethernet8")+"/config", `{"mtu":1500}`),
		},
		Update: []*gpb.Update{
			update(sampler("x"), `{"name":"x"}`),
			update(collector("c1")+"/config", `{"ip":"10.0.0.1","port":"4739"}`),
			update(collector("c1")+"/config/prt", `4739`),
			update(collector("c2")+"/config", `{"port":70000}`),
			uses("s2", "none"),
			update(flowgroup("f9")+"/config/priority", `"high"`),
			uses("s3", "f9"),
			update(sampler("good")+"/config/sampling-rate", `5`),
			update(c1, `{"config":`),
		},
	}, "InvalidArgument",
		`/tam/colectors: /tam has no node "colectors"; it has ...`,
		port("Ethernet0")+"/state: is read-only",
		port("Ethernet4")+`/config/type: "ieee8023adLag" cannot be set: it is ethernetCsmacd, `+
			`because it follows from the name`,
		port("Ethernet8")+": cannot be created: ports are made and removed by the breakout-mode of their cage",
		sampler("x")+"/config/sampling-rate: is missing",
		collector("c1")+`/config/port: "4739" is no JSON value of type uint16`,
		collector("c1")+`/config/prt: /tam/collectors/collector/config has no node "prt"; it has ...`,
		collector("c2")+`/config/port: "70000" is no number in 1..65535`,
		collector("c2")+"/config/ip: is missing",
		tailstamp("s2")+"/config/flowgroup: there is no flowgroup none",
		flowgroup("f9")+`/config/priority: "high" is no JSON value of type uint16`,
		c1+": bad JSON: unexpected EOF",
	)
}

// An error that would disappear if the rest of the Set were correct is not reported.
func TestNoFalseFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("one request after the other: nothing for the race detector")
	}
	const breakout = "/breakout-mode/groups/group[index=1]/config"
	for _, c := range []struct {
		name string
		req  *gpb.SetRequest
		code string
		want []string
	}{
		{"the referred to has a bad leaf", &gpb.SetRequest{Update: []*gpb.Update{
			update(flowgroup("f9")+"/config/priority", `-1`), uses("s3", "f9"),
		}}, "InvalidArgument", []string{flowgroup("f9") + "/config/priority: ..."}},
		{"in a path that is not there", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/flowgrups/flowgroup[name=f9]/config/priority", `1`), uses("s3", "f9"), uses("s4", "f8"),
		}}, "InvalidArgument", []string{
			"/tam/flowgrups/...",
			tailstamp("s4") + "/config/flowgroup: there is no flowgroup f8",
		}},
		{"in a member that is not there", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam", `{"flowgrups":{"flowgroup":[{"name":"f9"}]}}`), uses("s3", "f9"), uses("s4", "f8"),
		}}, "InvalidArgument", []string{
			`/tam: has no member "flowgrups"; ...`,
			tailstamp("s4") + "/config/flowgroup: there is no flowgroup f8",
		}},
		{"in a value for a path that is not there", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/flowgrups", `{"flowgroup":[{"name":"f9"}]}`), uses("s3", "f9"), uses("s4", "f8"),
		}}, "InvalidArgument", []string{
			"/tam/flowgrups: ...",
			tailstamp("s4") + "/config/flowgroup: there is no flowgroup f8",
		}},
		{"in a value that cannot be read", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/flowgroups", `{"flowgroup":[{"name":"f9"}`), uses("s3", "f9"), update(sampler("x"), `{}`),
		}}, "InvalidArgument", []string{
			"/tam/flowgroups: bad JSON: ...",
			sampler("x") + "/config/sampling-rate: is missing",
		}},
		{"both path and value are bad",
			&gpb.SetRequest{Update: []*gpb.Update{update("/tam/flowgrups", `{"flowgroup":[`), uses("s3", "f9")}},
			"InvalidArgument", []string{
				"/tam/flowgrups: /tam has no node ...", "/tam/flowgrups: bad JSON: ...",
			}},
		{"of an entry without its key", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/flowgroups", `{"flowgroup":[{"nme":"f9","config":{"id":3}}]}`), uses("s3", "f9"),
		}}, "InvalidArgument", []string{"/tam/flowgroups/flowgroup: key name: is missing"}},
		{"of a key that none can have", &gpb.SetRequest{Update: []*gpb.Update{
			update(flowgroup("f9|")+"/config/id", `3`), uses("s3", "f9"),
		}}, "InvalidArgument", []string{flowgroup("f9|") + ": key name: ..."}},
		{"of two keys that contradict", &gpb.SetRequest{Update: []*gpb.Update{
			update(flowgroup("f9"), `{"name":"f8"}`), uses("s3", "f9"), uses("s4", "f8"),
		}}, "InvalidArgument", []string{flowgroup("f9") + `/name: "f8" is not the key "f9" of the path`}},
		{"state where config was meant", &gpb.SetRequest{Update: []*gpb.Update{
			update(collector("c1")+"/state/ip", `"10.0.0.1"`), update(collector("c1")+"/config/port", `1`),
		}}, "InvalidArgument", []string{collector("c1") + "/state/ip: is read-only"}},
		{"state outside of lists", &gpb.SetRequest{Delete: deletes("/tam/switch/state"), Update: []*gpb.Update{
			update("/tam/switch/state/switch-id", `7`), update("/tam/switch", `{"state":{"switch-id":7}}`), uses("s3", "f9"),
		}}, "InvalidArgument", []string{
			"/tam/switch/state: is read-only", "/tam/switch/state/switch-id: is read-only", "/tam/switch/state: is read-only",
			tailstamp("s3") + "/config/flowgroup: there is no flowgroup f9",
		}},
		{"state of lists that have no other", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/flymon-groups", `{}`),
			update(altMarkM1+"/periods/period[number=1]/state/packets", `"1"`), uses("s3", "f9"),
		}}, "InvalidArgument", []string{
			"/tam/flymon-groups: is read-only", altMarkM1 + "/periods/period[number=1]/state/packets: is read-only",
			tailstamp("s3") + "/config/flowgroup: there is no flowgroup f9",
		}},
		{"the user's own change failed", &gpb.SetRequest{Delete: deletes(flowgroup("f1")), Update: []*gpb.Update{
			update(tailstamp("s1")+"/config/flowgroup", `5`),
		}}, "InvalidArgument", []string{tailstamp("s1") + "/config/flowgroup: 5 is no JSON value of type string"}},
		{"the user was to be deleted", &gpb.SetRequest{Delete: deletes(flowgroup("f1"), "/tam/tailstamping-sesions")},
			"NotFound", []string{"/tam/tailstamping-sesions: ..."}},
		{"another was to be deleted",
			&gpb.SetRequest{Delete: deletes(flowgroup("f1"), "/tam/colectors/collector[name=c1]")}, "InvalidArgument", []string{
				flowgroup("f1") + ": in use by tailstamping-session s1", "/tam/colectors/collector[name=c1]: ...",
			}},
		{"the user's key was deleted", &gpb.SetRequest{Delete: deletes(flowgroup("f1"), tailstamp("s1")+"/config/name")},
			"InvalidArgument", []string{tailstamp("s1") + "/config/name: is the key; delete the entry"}},
		{"a replace that cannot be read deletes nothing",
			&gpb.SetRequest{Replace: []*gpb.Update{update(flowgroups, `{"flowgroup":[{"name":`)}},
			"InvalidArgument", []string{flowgroups + ": bad JSON: ..."}},
		{"a replace by a member that is not there",
			&gpb.SetRequest{Replace: []*gpb.Update{update(flowgroups, `{"flowgrup":[{"name":"f1"}]}`)}},
			"InvalidArgument", []string{flowgroups + `: has no member "flowgrup"; ...`}},
		{"a replace by a key that none can have",
			&gpb.SetRequest{Replace: []*gpb.Update{update(flowgroups, `{"flowgroup":[{"name":"f1|"}]}`)}},
			"InvalidArgument", []string{flowgroups + "/flowgroup: key name: ..."}},
		{"deleted, and newly referred to",
			&gpb.SetRequest{Delete: deletes(flowgroup("f1"), tailstamp("s1")), Update: []*gpb.Update{uses("s2", "f1")}},
			"InvalidArgument", []string{tailstamp("s2") + "/config/flowgroup: there is no flowgroup f1"}},
		{"the owner of an id was to be deleted",
			&gpb.SetRequest{Delete: deletes("/tam/flowgrups/flowgroup[name=f1]"), Update: []*gpb.Update{
				update(flowgroup("f2")+"/config/id", `7`),
			}}, "NotFound", []string{"/tam/flowgrups/flowgroup[name=f1]: ..."}},
		{"the owner of an id was to change it", &gpb.SetRequest{Update: []*gpb.Update{
			update(flowgroup("f1")+"/config/id", `"8"`), update(flowgroup("f2")+"/config/id", `7`),
		}}, "InvalidArgument", []string{flowgroup("f1") + `/config/id: "8" is no JSON value of type uint32`}},
		{"the list around it", &gpb.SetRequest{Update: []*gpb.Update{
			update(port("Ethernet8")+"/config/mtu", `1500`), update(port("Ethernet8")+"/config/enabled", `true`),
			update(port("Ethernet8")+breakout, `{"num-breakouts":2,"breakout-speed":"SPEED_50GB"}`),
		}}, "InvalidArgument", []string{port("Ethernet8") + ": cannot be created: ..."}},
		{"ports of a breakout that failed", &gpb.SetRequest{Update: []*gpb.Update{
			update(port("Ethernet4")+breakout, `{"num-breakouts":3,"breakout-speed":"SPEED_50GB"}`),
			update(flowgroup("f1")+"/config/interfaces", `["Ethernet6"]`),
			update(flowgroup("f1")+"/config/interfaces", `["Ethernet9"]`),
		}}, "InvalidArgument", []string{
			port("Ethernet4") + "/breakout-mode/...",
			flowgroup("f1") + "/config/interfaces: there is no interface Ethernet9",
		}},
		{"ports of a breakout whose mode is wrong", &gpb.SetRequest{Update: []*gpb.Update{
			update(port("Ethernet4")+breakout, `{"num-breakouts":2,"breakout-speed":"SPEED_5GB"}`),
			update(flowgroup("f1")+"/config/interfaces", `["Ethernet6"]`),
		}}, "InvalidArgument", []string{
			port("Ethernet4") + "/breakout-mode/groups/group[index=1]/config/breakout-speed: ...",
		}},
		{"a collector that was to be another", &gpb.SetRequest{Update: []*gpb.Update{
			update(collector("tcp")+"/config/protocol", `"UPD"`),
			update(recordSessions+"/tablerecord-session[name=r2]/config",
				`{"flowgroup":"f1","collector":"tcp","sampler":"some"}`),
			update(recordSessions+"/tablerecord-session[name=r3]/config",
				`{"flowgroup":"f2","collector":"six","sampler":"some","source-ip":"10.0.0.1"}`),
			update(flowgroup("f2"), `{}`),
		}}, "InvalidArgument", []string{
			collector("tcp") + `/config/protocol: "UPD" is none of TCP, UDP`,
			recordSessions + "/tablerecord-session[name=r3]: config/source-ip: 10.0.0.1 cannot reach collector six...",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			rows := recording()
			delete(rows, "CONFIG_DB TAM_TABLERECORD_TABLE|r1")
			b.rows(rows)
			b.wantFaults(t, c.req, c.code, c.want...)
		})
	}
}

// If all errors have the same code, it is the code of the response.
func TestFaultCode(t *testing.T) {
	ascii := &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "x"}}
	for _, c := range []struct {
		name, code string
		req        *gpb.SetRequest
	}{
		{"unknown paths", "NotFound", &gpb.SetRequest{Delete: deletes("/x", "/y")}},
		{"kinds of values", "Unimplemented", &gpb.SetRequest{Update: []*gpb.Update{
			{Path: path(c1), Val: ascii}, {Path: path(flowgroups), Val: ascii},
		}}},
		{"the state of the switch", "FailedPrecondition", &gpb.SetRequest{
			Delete: deletes(flowgroup("f1")),
			Update: []*gpb.Update{update("/tam/features/feature[feature-ref=FLYMON]/config/status", `"ACTIVE"`)},
		}},
		{"not served, and wrong", "Unimplemented", &gpb.SetRequest{Update: []*gpb.Update{
			{Path: path(c1), Val: ascii}, update("/x", `{}`),
		}}},
		{"a mixture", "InvalidArgument", &gpb.SetRequest{Delete: deletes(flowgroup("f1"), c1+"/config/x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			b.rows(someSwitch())
			b.rows(map[string]string{"STATE_DB SWITCH_CAPABILITY|switch": "tam-flymon-capable=false"})
			_, err := b.client.Set(b.ctx, c.req)
			wantErr(t, err, c.code)
			wantBounded(t, err)
			if n := strings.Count(status.Convert(err).Message(), "\n"); n != 1 {
				t.Errorf("%d errors, want 2: %v", n+1, err)
			}
		})
	}
}

// A cancelled request changes nothing.
func TestSetCancelled(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	before := b.config()
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, req := range []*gpb.SetRequest{
		{Delete: deletes(tailstamp("s1"))}, {},
		{Update: []*gpb.Update{update(sampler("x"), `{"config":{"sampling-rate":1}}`)}},
	} {
		_, err := b.server.Set(ctx, req)
		wantErr(t, err, "Canceled")
	}
	if b.config() != before {
		t.Error("CONFIG_DB changed")
	}
}

// The port to which a member of a port channel or VLAN refers must exist, although it is also the member's key.
func TestMissingMember(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	member := "/vlans/vlan[vlan-id=10]/members/member[interface=Ethernet8]"
	b.wantFaults(t, &gpb.SetRequest{Update: []*gpb.Update{update(member, `{}`)}}, "InvalidArgument",
		member+"/config/interface: there is no interface Ethernet8")
}

// Thousands of errors result in one bounded answer, which counts all.
func TestManyFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	const n = 10_000
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name  string
		one   func(req *gpb.SetRequest, i int)
		shown int // least number of errors in the response
	}{
		{"unknown paths", func(req *gpb.SetRequest, i int) {
			req.Delete = append(req.Delete, path(fmt.Sprintf("/tam/x%d", i)))
		}, 20},
		{"out of range", func(req *gpb.SetRequest, i int) {
			req.Update = append(req.Update, update(sampler(fmt.Sprint("x", i))+"/config/sampling-rate", `0`))
		}, 20},
		{"cannot be created", func(req *gpb.SetRequest, i int) {
			req.Replace = append(req.Replace, update(port(fmt.Sprint("Ethernet", 8+i))+"/config/mtu", `1500`))
		}, 20},
		{"missing", func(req *gpb.SetRequest, i int) {
			req.Update = append(req.Update, update(sampler(fmt.Sprint("x", i)), `{}`))
		}, 20},
		{"referred to", func(req *gpb.SetRequest, i int) {
			req.Update = append(req.Update, uses(fmt.Sprint("x", i), "none"))
		}, 20},
		{"bad JSON", func(req *gpb.SetRequest, i int) {
			req.Update = append(req.Update, update(sampler(fmt.Sprint("x", i)), `{`))
		}, 20},
		{"long and strange", func(req *gpb.SetRequest, i int) {
			if i < 500 {
				req.Update = append(req.Update, update(sampler("é%"+long)+"/config/sampling-rate", `1`),
					update("/tam/switch/config/switch-id", `"`+long+`"`))
			} else if i < n-500 {
				req.Update = append(req.Update, update("/\n\xff%", `{}`))
			}
		}, 7},
		{"wildcards that mean too much", func(req *gpb.SetRequest, _ int) {
			req.Delete = append(req.Delete, path("/.../*/.../*/.../*/.../x"))
		}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, nil)
			b.rows(someSwitch())
			before := b.config()
			req := &gpb.SetRequest{}
			for i := range n {
				c.one(req, i)
			}
			_, err := b.server.Set(b.ctx, req)
			if err == nil {
				t.Fatal("accepted")
			}
			wantBounded(t, err)
			lines := strings.Split(status.Convert(err).Message(), "\n")
			shown, more := len(lines)-1, 0
			if _, err := fmt.Sscanf(lines[shown], "and %d more", &more); err != nil || shown < c.shown || shown+more != n {
				t.Errorf("%d errors and %q, want at least %d and in all %d", shown, lines[shown], c.shown, n)
			}
			if b.config() != before {
				t.Error("CONFIG_DB changed")
			}
		})
	}
}
