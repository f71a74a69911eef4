package mgmt

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

func TestGetJSON(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	for _, c := range []struct{ path, want string }{
		{"/tam/tailstamping-sessions/tailstamping-session[name=s1]", `{
			"openconfig-tam:name":"s1",
			"openconfig-tam:config":{"name":"s1","flowgroup":"f1"},
			"openconfig-tam:state":{"name":"s1","flowgroup":"f1",
				"tamtam-status:status":"active","tamtam-status:since":"2026-01-02T03:04:05Z",
				"counters":{"matched-packets":"7656","matched-octets":"18446744073709551615","stamped-packets":"7600","not-stamped":{"cut":"56"}}}}`},
		{"/openconfig-tam:tam/tailstamping-sessions/tailstamping-session[name=s1]/config/flowgroup", `"f1"`},
		{"/tam/tailstamping-sessions/tailstamping-session[name=s1]/state/counters/matched-packets", `"7656"`},
		{"/tam/flowgroups/flowgroup[name=f1]/config", `{"openconfig-tam:name":"f1","openconfig-tam:id":7,"openconfig-tam:priority":100,"openconfig-tam:interfaces":["Ethernet0"]}`},
		{"/tam/flowgroups/flowgroup[name=f1]/ipv4/state", `{"openconfig-tam:source-address":"13.92.96.32","openconfig-tam:destination-address":"7.72.235.82/32"}`},
		{"/tam/flowgroups/flowgroup[name=f1]/state/packets", `"7656"`},
		{"/tam/flowgroups/flowgroup[name=f1]/transport/config/destination-port", `236`},
		{"/tam/switch/state", `{"openconfig-tam:op-switch-id":2020,"openconfig-tam:op-enterprise-id":2020}`},
		{"/tam/features-state/feature[feature-ref=TAILSTAMPING]/state/op-status", `"ACTIVE"`},
		{"/interfaces/interface[name=Ethernet0]/config", `{"openconfig-interfaces:name":"Ethernet0","openconfig-interfaces:type":"iana-if-type:ethernetCsmacd","openconfig-interfaces:mtu":9100,"openconfig-interfaces:enabled":true}`},
		{"/interfaces/interface[name=Ethernet4]/config/mtu", `9100`}, // the default
		{"/interfaces/interface[name=Ethernet0]/state/counters", `{"openconfig-interfaces:in-octets":"10","openconfig-interfaces:in-pkts":"3","openconfig-interfaces:in-unicast-pkts":"1","openconfig-interfaces:in-multicast-pkts":"2"}`},
		{"/interfaces/interface[name=Ethernet0]/state/tamtam-interfaces:alias", `"Eth1"`},
		{"/acl/acl-sets/acl-set[name=TAM]/acl-entries/acl-entry[sequence-id=f1]/state/matched-packets", ""},
	} {
		got, err := b.get(c.path)
		if c.want == "" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		t.Run(strings.ReplaceAll(c.path, "/", " "), func(t *testing.T) { sameJSON(t, got, c.want) })
	}
	all, err := b.get("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(all)
	_ = gpb.Encoding_JSON
}
