package saisim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// The graph of a chip of four stages, with and without a program.
func TestDescribe(t *testing.T) {
	r := newRig(t, saisim.SmallProfile())
	if got, want := r.Describe().String(), `ingress 0 chip.admission pass -> chip.acl
ingress 0 chip.admission drop -> end
ingress 2 chip.acl pass -> chip.learning
ingress 3 chip.learning pass -> chip.forwarding
ingress 3 chip.forwarding pass -> end
ingress 3 chip.forwarding drop -> end
egress 3 chip.mtu pass -> chip.acl
egress 3 chip.mtu drop -> end
egress 3 chip.acl pass -> chip.rewrite
egress 3 chip.acl drop -> end
egress 3 chip.rewrite pass -> end
`; got != want {
		t.Errorf("without a program:\n%s\nwant\n%s", got, want)
	}
	p := &pipe.Program{Name: "p"}
	filter := does("filter", 1, op("set", "ctl.drop", constant(1)))
	filter.Gate = [][]pipe.Term{{{Table: "first", Is: "miss"}}}
	p.Ingress.Tables = []pipe.Table{does("first", 0, op("set", "ip.dscp", constant(1))), filter, does("last", 3, op("set", "ip.ttl", constant(2)))}
	p.Egress.Tables = []pipe.Table{does("out", 0, op("set", "ip.ecn", constant(1)))}
	r.load(p)
	g := r.Describe()
	if got, want := g.String(), `ingress 0 chip.admission pass -> first
ingress 0 chip.admission drop -> end
ingress 0 first always -> filter.gate
ingress 1 filter.gate true -> filter
ingress 1 filter.gate false -> stage1.drop
ingress 1 filter always -> stage1.drop
ingress 1 stage1.drop true -> end
ingress 1 stage1.drop false -> chip.acl
ingress 2 chip.acl pass -> chip.learning
ingress 3 chip.learning pass -> chip.forwarding
ingress 3 chip.forwarding pass -> last
ingress 3 chip.forwarding drop -> end
ingress 3 last always -> end
egress 0 out always -> chip.mtu
egress 3 chip.mtu pass -> chip.acl
egress 3 chip.mtu drop -> end
egress 3 chip.acl pass -> chip.rewrite
egress 3 chip.acl drop -> end
egress 3 chip.rewrite pass -> end
`; got != want {
		t.Errorf("with a program:\n%s\nwant\n%s", got, want)
	}
	r.profile(0, muxedStart, 0)
	if got, want := r.Describe().String(), "ingress 2 chip.acl pass -> chip.altmark\ningress 2 chip.altmark pass -> chip.learning\n"; !strings.Contains(got, want) {
		t.Errorf("with alternate marking:\n%s\nwant among it\n%s", got, want)
	}
	text, err := json.Marshal(g)
	var again saisim.Graph
	if err != nil || json.Unmarshal(text, &again) != nil || again.String() != g.String() || again.Program != "p" {
		t.Errorf("JSON: %v: %s", err, text)
	}
}
