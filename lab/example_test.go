package lab_test

import (
	"context"
	"fmt"

	"tamtam/lab"
)

// One switch, two hosts and ten frames, described in YAML; the delay is exact in simulated time.
func Example() {
	t, err := lab.Parse("pair.yaml", []byte(`
experiment: pair
switches:
- name: s1
  config:
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER:
      Vlan10|Ethernet0: {tagging_mode: untagged}
      Vlan10|Ethernet4: {tagging_mode: untagged}
hosts:
- {name: a, ips: [10.0.0.1/24]}
- {name: b, ips: [10.0.0.2/24]}
links:
- {a: a, b: "s1:Ethernet0"}
- {a: b, b: "s1:Ethernet4"}
traffic:
- {name: web, from: a, to: b, pps: 1000000, count: 10, start: 20us}
checks:
- {name: all come, measured: flow.web.received, want: 10}
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := lab.Run(context.Background(), t, lab.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Flows["web"].Received, r.Passed())
	// Output: 10 true
}
