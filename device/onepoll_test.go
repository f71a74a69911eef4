package device

import (
	"testing"

	"github.com/gopacket/gopacket/layers"

	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// The counters of a session are of one instant, whenever syncd has read the ACL
// counters: what matched has been stamped or not, but for what is in the switch.
func TestSessionCountersOfOnePoll(t *testing.T) {
	s := testSim(t, SimConfig{Config: twoPorts()})
	settle(t, s)
	port, ok := s.Chip.PortByName("Ethernet0")
	if !ok {
		t.Fatal("no port")
	}
	for round := 1; round <= 3; round++ {
		for i := range 10 {
			proto := layers.IPProtocolUDP
			if i%5 == 0 {
				proto = layers.IPProtocolICMPv4
			}
			data := frame(t, eth(layers.EthernetTypeIPv4), ip4(proto), payload(40+i))
			if err := s.Chip.Receive(port, s.Chip.Now(), saisim.Frame{Data: data}); err != nil {
				t.Fatal(err)
			}
			if err := s.Advance(t.Context(), s.Chip.Now()+saisim.Cycle(s.Chip.Profile().ClockHz/1000)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Orchagent.PollCounters(t.Context()); err != nil {
			t.Fatal(err)
		}
		row, _, err := swss.NewTable(s.Redis.DB(swss.CountersDB), schema.CountersTailStamp).Get(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		c, err := schema.ParseCounters(schema.CountersTailStamp, "s", row)
		if err != nil {
			t.Fatal(err)
		}
		if n := uint64(10 * round); c.Counts["MATCHED_PACKETS"] != n ||
			c.Counts["STAMPED_PACKETS"]+c.Counts["NOT_STAMPED_NOT_TCP_UDP"] != n {
			t.Errorf("after %d frames: %v", n, row)
		}
	}
}
