package device_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// arpReply returns the answer of a collector, 10.8.0.2 with the MAC address 02:00:00:00:00:77, to the switch at
// 10.8.0.1.
func arpReply() []byte {
	b := []byte{2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 0x77, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 0x77, 10, 8, 0, 2}
	return append(append(b, 2, 0, 0, 0, 0, 0xaa, 10, 8, 0, 1), make([]byte, 18)...)
}

// Sessions of table recording and mirror sessions request the address of a silent collector until it answers, and
// again when it falls silent. The requests follow hostd's timers.
func TestCollectorIsAskedFor(t *testing.T) {
	c := devicetest.RecordedPorts()
	delete(c, "NEIGH")
	c[schema.CfgDeviceMetadata] = map[string]swss.FieldValues{"localhost": {"mac": "02:00:00:00:00:aa"}}
	c[schema.CfgMirrorSession] = map[string]swss.FieldValues{"m": {
		"type": "ERSPAN", "src_ip": "10.8.0.1", "dst_ip": "10.8.0.2", "gre_type": "0x88be", "dscp": "8", "ttl": "64",
	}}
	racetest.Stepped(t)
	s, err := device.NewSim(t.Context(), device.SimConfig{Profile: profile.Small(), Config: c, Host: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var port saisim.PortID
	asked, answers := 0, true
	question := append([]byte{0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0xaa, 10, 8, 0, 1}, 0, 0, 0, 0, 0, 0, 10, 8, 0, 2)
	var due []saisim.Cycle
	s.Chip.SetOutput(func(o *saisim.Out) {
		s.Punt(o)
		if o.Port != port || len(o.Data) < 42 || !bytes.Equal(o.Data[14:32], question[:18]) ||
			!bytes.Equal(o.Data[38:42], question[24:]) {
			return
		}
		if asked++; answers {
			due = append(due, o.At)
		}
	})
	pass := func(d time.Duration) {
		t.Helper()
		for end := s.Chip.Now() + s.Chip.CycleAt(d); s.Chip.Now() < end; {
			devicetest.NoError(t, s.Advance(t.Context(), min(end, s.Chip.Now()+s.Chip.CycleAt(time.Second))))
			for range due {
				devicetest.NoError(t, s.Chip.Receive(port, s.Chip.Now(), saisim.Frame{Data: arpReply()}))
			}
			due = nil
		}
	}
	states := func(want string) {
		t.Helper()
		rec := devicetest.Row(t, s.Redis, swss.StateDB, schema.StateTAMTableRecord, "s")
		mirror := devicetest.Row(t, s.Redis, swss.StateDB, schema.AppMirrorSession, "m")
		rows, err := swss.NewTable(s.Redis.DB(swss.ApplDB), schema.AppNeighResolve).Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(rec["status"], " ", mirror["status"], " ", rows); got != want {
			t.Errorf("%s (%s), want %s", got, rec["reason"], want)
		}
	}
	answers = false
	devicetest.NoError(t, s.RunUntilIdle(t.Context()))
	port, _ = s.Chip.PortByName("Ethernet2")
	pass(30 * time.Second)
	states("pending inactive [Ethernet2:10.8.0.2]")
	if asked == 0 || asked > 15 {
		t.Errorf("in 30 seconds asked %d times", asked)
	}
	answers = true
	pass(15 * time.Second)
	states("active active []")
	answers, asked = false, 0
	pass(6 * time.Minute)
	states("pending inactive [Ethernet2:10.8.0.2]")
	if asked == 0 || asked > 40 {
		t.Errorf("in 6 minutes asked %d times", asked)
	}
	answers = true
	pass(15 * time.Second)
	states("active active []")
}
