package marking_test

import (
	"context"
	"fmt"

	"tamtam/lab"
	"tamtam/lab/study/marking"
)

// Example measures a link that takes 5 µs. Two switches mark, count and report, and the study joins their reports.
func Example() {
	t, err := lab.Parse("example.yaml", []byte(`
experiment: link
seed: 1
duration: 60ms
x-switch: &switch
  PORT:
    Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
    Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
  VLAN: {Vlan10: {vlanid: "10"}}
  VLAN_MEMBER:
    Vlan10|Ethernet0: {tagging_mode: untagged}
    Vlan10|Ethernet4: {tagging_mode: untagged}
  TAM_FEATURES_TABLE: {ALTMARK: {status: ACTIVE}}
  TAM_FLOWGROUP_TABLE: {web: {id: "1"}}
  ACL_RULE: {"TAM|web": {PRIORITY: "100", DST_IP: 10.0.0.2/32}}
switches:
- name: leaf
  config:
    <<: *switch
    TAM_ALTMARK_TABLE: {web: {flowgroup: web, role: initiator, method: muxed, interval: "-7", mark: dscp0}}
- name: spine
  config:
    <<: *switch
    TAM_ALTMARK_TABLE: {web: {flowgroup: web, role: terminator, method: muxed, interval: "-7", mark: dscp0}}
hosts:
- {name: client, ips: [10.0.0.1/24]}
- {name: server, ips: [10.0.0.2/24]}
links:
- {a: client, b: "leaf:Ethernet0"}
- {a: "leaf:Ethernet4", b: "spine:Ethernet0", delay: 5us}
- {a: "spine:Ethernet4", b: server}
traffic:
- {name: web, from: client, to: server, pps: 20000, start: 20us}
altmark:
  paths:
  - {name: web, points: ["leaf:web", "spine:web"]}
checks:
- {name: complete periods, measured: altmark.web.leaf.spine.complete, min: 2}
- {name: packets lost, measured: altmark.web.leaf.spine.lost, want: 0}
- {name: "delay error, against the truth", measured: altmark.web.leaf.spine.delay_error.max, max: 2ns}
`), nil, new(marking.Study))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := lab.Run(context.Background(), t, lab.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Checks {
		fmt.Println(c.Name+":", c.Measured, *c.Pass)
	}
	// Output:
	// complete periods: 3 true
	// packets lost: 0 true
	// delay error, against the truth: 0 true
}
