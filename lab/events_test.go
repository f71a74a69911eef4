package lab_test

import (
	"fmt"
	"testing"

	"tamtam/lab"
)

// A switch that an event gives something to send, as hostd of a link that comes up, sends it at once: in a quiet lab too,
// where nothing else is due for long, it comes to the other switch in time.
func TestEventsAreWork(t *testing.T) {
	for _, lookahead := range []string{"1us", "100us"} {
		topology, err := lab.Parse("up.yaml", fmt.Appendf(nil, `
experiment: up
duration: 5100ms
switches:
- name: s1
  hostd: true
  config: &config
    PORT:
      Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
      Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
- {name: s2, hostd: true, config: *config}
- {name: s3, hostd: true, config: *config}
links:
- {name: first, a: "s1:Ethernet0", b: "s2:Ethernet0", delay: %[1]s}
- {name: second, a: "s2:Ethernet4", b: "s3:Ethernet4", delay: %[1]s}
events:
- {at: 1s, do: down, link: first}
- {at: 2001ms, do: up, link: first}
- {at: 2700123us, do: down, link: second}
- {at: 3001ms, do: up, link: second}
- {at: 4001ms, do: config, switch: s1, set: {PORT|Ethernet0: {admin_status: down}}}
- {at: 5001ms, do: config, switch: s1, set: {PORT|Ethernet0: {admin_status: up}}}
`, lookahead), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lab.Run(t.Context(), topology, lab.Options{Workers: 1}); err != nil {
			t.Errorf("links of %s: %v", lookahead, err)
		}
	}
}
