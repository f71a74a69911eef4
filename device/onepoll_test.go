package device_test

import (
	"testing"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// The counters of a session are from one instant, whenever syncd has read the ACL counters. Matched packets are either
// stamped or not, except for packets that are still in the switch.
func TestSessionCountersOfOnePoll(t *testing.T) {
	s := devicetest.NewSim(t, device.SimConfig{Config: devicetest.TwoPorts()})
	devicetest.RunUntilIdle(t, s)
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
			data := devicetest.IPv4Frame(t, proto, devicetest.Payload(40+i))
			devicetest.NoError(t, s.Chip.Receive(port, s.Chip.Now(), saisim.Frame{Data: data}))
			devicetest.NoError(t, s.Advance(t.Context(), s.Chip.Now()+saisim.Cycle(s.Chip.Profile().ClockHz/1000)))
		}
		devicetest.NoError(t, s.Orchagent.PollCounters(t.Context()))
		row := devicetest.Row(t, s.Redis, swss.CountersDB, schema.CountersTailStamp, "s")
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
