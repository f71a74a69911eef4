package mgmt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/mgmt/tree"
	"tamtam/yang/tamyang"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ytypes"
)

// The complete tree in JSON_IETF is accepted by ygot's generated types, and valid, references included.
func TestYgotReadsIt(t *testing.T) {
	b := newBed(t, nil)
	b.rows(brokenOut())
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{
		update("/tam/collectors/collector[name=c1]/config", `{"ip":"2001:db8::1","port":4739}`),
		update("/tam/samplers/sampler[name=x]/config/sampling-rate", `100`),
		update("/tam/flowgroups/flowgroup[name=f1]/transport/config",
			`{"source-port":"1..2","tcp-flags":["TCP_ACK","TCP_SYN"]}`),
		update("/interfaces/interface[name=PortChannel1]/aggregation/members/member[interface=Ethernet6]", `{}`),
		update("/vlans/vlan[vlan-id=10]/members/member[interface=PortChannel1]/config", `{"tagging-mode":"UNTAGGED"}`),
	}})
	got, err := b.get("/")
	if err != nil {
		t.Fatal(err)
	}
	dev := &tamyang.Device{}
	if err := tamyang.Unmarshal([]byte(got), dev); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if err := dev.Validate(&ytypes.LeafrefOptions{}); err != nil {
		t.Errorf("%v\n%s", err, got)
	}
	c := dev.Tam.TailstampingSessions.TailstampingSession["s1"].State.Counters
	if *c.MatchedOctets != 18446744073709551615 {
		t.Error(*c.MatchedOctets)
	}
}

// For every configurable leaf, a Set accepts the same values as ygot. (ygot also cuts off fractions.)
func TestAgreesWithYgot(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	m := offline(t)
	values := []string{
		`0`, `1`, `2`, `7`, `63`, `64`, `67`, `68`, `255`, `256`, `1024`, `1025`, `4094`, `4095`, `9216`, `9217`, `65535`,
		`65536`, `1048575`, `1048576`,
		`16777216`, `16777217`, `4294967295`, `4294967296`, `-1`, `true`, `{}`, `[]`, `""`, `"1"`, `"x"`, `"a|b"`, `"a,b"`,
		`"a b"`, `"a:b"`, `"ä"`,
		`"TCP"`, `"tcp"`, `"NONE"`, `"ACTIVE"`, `"IPV4"`, `"TAILSTAMPING"`, `"SPEED_25GB"`, `"UNTAGGED"`, `"ethernetCsmacd"`,
		`"iana-if-type:ethernetCsmacd"`,
		`"10.0.0.1"`, `"10.0.0.1/8"`, `"10.0.0.1/33"`, `"10.0.0.256"`, `"::1"`, `"::1/128"`, `"::1/129"`, `"1..2"`,
		`"00:11:22:33:44:55"`, `"00:11:22:33:44:5"`,
		`["TCP_SYN","TCP_ACK"]`, `["Ethernet0"]`, `"Ethernet0"`, `"Vlan1"`, `"` + strings.Repeat("x", 255) + `"`,
		`"` + strings.Repeat("x", 256) + `"`,
	}
	for _, g := range m.Lists {
		for _, n := range g.Leaves {
			if !n.Writable() || n.KeyIndex >= 0 {
				continue
			}
			for _, v := range values {
				is := decoded(t, []byte(v))
				_, ours := n.FromJSON(is)
				if _, number := is.(json.Number); number && (n.Type.Kind == yang.Yint64 || n.Type.Kind == yang.Yuint64) {
					v = `"` + v + `"` // ygot accepts 64-bit numbers only as IETF JSON encodes them
				}
				theirs := ygotAccepts(n, v)
				if (ours == nil) != (theirs == nil) {
					t.Errorf("%s = %s: here %v, ygot %v", n.Path, v, ours, theirs)
				}
			}
		}
	}
}

// ygotAccepts unmarshals a value into the generated types.
func ygotAccepts(n *tree.Node, value string) error {
	text := value
	for at := n; at.Parent != nil; at = at.Parent {
		if at.IsList {
			keys := ""
			for _, k := range at.List.OwnKeys() {
				key := map[string]string{
					"feature-ref": `"FLYMON"`, "identifier": `"STATIC"`, "type": `"ACL_IPV4"`, "mac-address": `"00:11:22:33:44:55"`,
					"address": `"10.0.0.1"`, "prefix": `"10.0.0.0/8"`, "ip": `"10.0.0.1"`,
				}[k]
				switch i := slices.IndexFunc(at.Kids, func(n *tree.Node) bool { return n.Name == k }); {
				case k == "type" && strings.HasPrefix(at.Path, "/qos/"):
					key = `"IPV4"`
				case k == "ip" && strings.Contains(at.Path, "ipv6"):
					key = `"2001:db8::1"`
				case key != "":
				case at.Kids[i].Type.Kind >= yang.Yint8 && at.Kids[i].Type.Kind <= yang.Yuint64:
					key = `1`
				default:
					key = `"Ethernet0"`
				}
				keys += fmt.Sprintf(`"%s":%s,`, k, key)
			}
			text = "[{" + keys + text[1:] + "]"
		}
		text = fmt.Sprintf(`{"%s":%s}`, at.Name, text)
	}
	dev := &tamyang.Device{}
	if err := tamyang.Unmarshal([]byte(text), dev); err != nil {
		return err
	}
	return dev.Validate(&ytypes.LeafrefOptions{IgnoreMissingData: true})
}
