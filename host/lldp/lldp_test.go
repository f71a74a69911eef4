package lldp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func agent(name string, last byte) *Agent {
	a := New()
	a.Configure(noon, System{MAC: [6]byte{2, 0, 0, 0, 0, last}, Name: name, Description: "tamtam"},
		[]Port{{"Ethernet0", "etp1"}, {"Ethernet4", ""}})
	return a
}

// A port sends as soon as it is up, and every 30 seconds.
func TestPortsSpeak(t *testing.T) {
	a := agent("s1", 1)
	spoke := func(want ...string) {
		t.Helper()
		var got []string
		for _, f := range a.Frames() {
			got = append(got, f.Port)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("spoke %v, want %v", got, want)
		}
	}
	spoke("Ethernet0", "Ethernet4")
	a.Advance(noon.Add(30*time.Second - 1))
	spoke()
	a.Advance(noon.Add(30 * time.Second))
	spoke("Ethernet0", "Ethernet4")
	a.Configure(noon.Add(31*time.Second), a.system, []Port{{"Ethernet4", ""}})
	spoke()
	a.Configure(noon.Add(32*time.Second), a.system, []Port{{"Ethernet0", "etp1"}, {"Ethernet4", ""}})
	spoke("Ethernet0")
	if at, ok := a.Next(); !ok || !at.Equal(noon.Add(60*time.Second)) {
		t.Errorf("next at %v, %v", at, ok)
	}
}

// One switch's announcement, octet by octet, and the neighbour that the other makes of it.
func TestTwoSwitches(t *testing.T) {
	a, b := agent("s1", 1), agent("s2", 2)
	f := a.Frames()[0].Data
	want := append([]byte{1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 5, 7},
		"etp1"...)
	want = append(want, 6, 2, 0, 120, 8, 9)
	want = append(append(want, "Ethernet0"...), 10, 2, 's', '1', 12, 6, 't', 'a', 'm', 't', 'a', 'm', 14, 4, 0, 20, 0, 20,
		0, 0)
	if !bytes.Equal(f, want) {
		t.Errorf("says\n%x\nwant\n%x", f, want)
	}
	b.Frames()
	for range 2 { // the neighbour is new only once
		if err := b.Receive(noon, "Ethernet4", f); err != nil {
			t.Fatal(err)
		}
	}
	if again := b.Frames(); len(again) != 1 || again[0].Port != "Ethernet4" {
		t.Errorf("says %v to somebody new", again)
	}
	got := fmt.Sprintf("%+v", b.Neighbors())
	if want := fmt.Sprintf("%+v", []Neighbor{{Port: "Ethernet4", ChassisSubtype: 4, PortSubtype: 7,
		ChassisID: "02:00:00:00:00:01", PortID: "etp1",
		PortDescription: "Ethernet0", SystemName: "s1", SystemDescription: "tamtam", Supported: 20, Enabled: 20,
		Received: noon, Expires: noon.Add(120 * time.Second), Index: 1}}); got != want {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
}

func tlv(kind int, v ...byte) []byte { return appendTLV(nil, kind, v) }

func pdu(tlvs ...[]byte) []byte {
	b := append(append([]byte{}, Group[:]...), 2, 0, 0, 0, 0, 9, 0x88, 0xcc)
	return append(b, bytes.Join(tlvs, nil)...)
}

var (
	chassis, port = tlv(tlvChassis, 4, 2, 0, 0, 0, 0, 9), tlv(tlvPort, 7, 'x')
	end           = tlv(tlvEnd)
)

func ttl(n uint16) []byte { return tlv(tlvTTL, byte(n>>8), byte(n)) }

func TestWhatIsHeard(t *testing.T) {
	for _, tt := range []struct {
		name, err, want string // of the neighbour: chassis, port, name, management address
		pdu             []byte
	}{
		{"the least", "", "02:00:00:00:00:09 x  invalid IP", pdu(chassis, port, ttl(60), end)},
		{"addresses as ids, and a management address", "", "10.0.0.9 2001:db8::9 r 10.0.0.7", pdu(
			tlv(tlvChassis, 5, 1, 10, 0, 0, 9), tlv(tlvPort, append([]byte{4, 2},
				netip.MustParseAddr("2001:db8::9").AsSlice()...)...), ttl(60),
			tlv(tlvSystemName, 'r'), tlv(tlvManagement, 5, 1, 10, 0, 0, 7, 1, 0, 0, 0, 0, 0), end)},
		{"what is no text", "", "02:00:00:00:00:09 0102 ff invalid IP",
			pdu(chassis, tlv(tlvPort, 5, 1, 2), ttl(60), tlv(tlvSystemName, 0xff), end)},
		{"types that nobody knows are left out", "", "02:00:00:00:00:09 x  invalid IP",
			pdu(chassis, port, ttl(60), tlv(100, 1), tlv(127, 0, 0x12, 0x0f, 1), end)},
		{"the wrong order", "TLV 2 has type 3, want 2", "", pdu(chassis, ttl(60), port, end)},
		{"two names of the chassis", "a second TLV of type 1", "", pdu(chassis, port, ttl(60), chassis, end)},
		{"no end", "ends without an end", "", pdu(chassis, port, ttl(60))},
		{"cut", "bytes of", "", pdu(chassis, port, ttl(60), tlv(tlvSystemName, 'a', 'b'))[:34]},
		{"an id of nothing", "an id of 0 bytes", "", pdu(tlv(tlvChassis, 4), port, ttl(60), end)},
		{"a short TTL", "want 2", "", pdu(chassis, port, tlv(tlvTTL, 1), end)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := agent("s1", 1)
			err := a.Receive(noon, "Ethernet0", tt.pdu)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || len(a.Neighbors()) != 0 || a.Counts().Discarded != 1 {
					t.Errorf("%v, neighbours %v, counts %+v; want %q", err, a.Neighbors(), a.Counts(), tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			n := a.Neighbors()[0]
			if got := fmt.Sprint(n.ChassisID, " ", n.PortID, " ", n.SystemName, " ", n.Management); got != tt.want {
				t.Errorf("heard %q, want %q", got, tt.want)
			}
		})
	}
}

// A neighbour is removed when it expires, when it shuts down, or when the port goes down. A port keeps four at most.
func TestNeighborsEnd(t *testing.T) {
	a := agent("s1", 1)
	say := func(at time.Duration, n byte, seconds uint16) {
		t.Helper()
		if err := a.Receive(noon.Add(at), "Ethernet0", pdu(tlv(tlvChassis, 4, 2, 0, 0, 0, 0, n), port, ttl(seconds),
			end)); err != nil {
			t.Fatal(err)
		}
	}
	there := func(want string) {
		t.Helper()
		got := ""
		for _, n := range a.Neighbors() {
			got += n.ChassisID[15:] + " "
		}
		if got != want {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
	say(0, 1, 10)
	say(0, 2, 20)
	say(5*time.Second, 1, 10)
	a.Advance(noon.Add(14 * time.Second))
	there("01 02 ")
	say(14*time.Second, 2, 0)
	there("01 ")
	a.Advance(noon.Add(15 * time.Second))
	there("")
	for n := range byte(6) {
		say(16*time.Second, 10+n, 100)
	}
	there("0a 0b 0c 0d ")
	if c := a.Counts(); c.TooMany != 2 || c.Expired != 1 {
		t.Errorf("counts %+v", c)
	}
	a.Configure(noon.Add(17*time.Second), a.system, []Port{{"Ethernet4", ""}})
	there("")
	if err := a.Receive(noon.Add(18*time.Second), "Ethernet0", pdu(chassis, port, ttl(60), end)); err == nil {
		t.Error("heard at a port that is down")
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(pdu(chassis, port, ttl(60), tlv(tlvManagement, 5, 1, 10, 0, 0, 7), end))
	f.Add(agent("s1", 1).Frames()[0].Data)
	f.Fuzz(func(t *testing.T, b []byte) {
		a := agent("s1", 1)
		err := a.Receive(noon, "Ethernet0", b)
		if (err != nil) != (a.Counts().Discarded == 1) || len(a.Neighbors()) > 1 {
			t.Errorf("%v, counts %+v, neighbours %v", err, a.Counts(), a.Neighbors())
		}
		for _, n := range a.Neighbors() {
			if n.ChassisID == "" && len(bytes.Trim(b[17:], "\x00")) == 0 || binary.BigEndian.Uint16(b[12:]) != EtherType {
				t.Errorf("heard %+v of %x", n, b)
			}
		}
	})
}
