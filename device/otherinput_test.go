package device_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// plainDatagram returns a frame with a UDP datagram over IPv4 or IPv6, of 100 bytes after the Ethernet header.
func plainDatagram(v6 bool, port uint16) []byte {
	b := append([]byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa}, make([]byte, 102)...)
	ip := b[14:]
	l4 := 20
	if v6 {
		l4 = 40
		copy(b[12:], []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 60, 17, 64, 0x20, 1, 0xd, 0xb8})
		ip[23], ip[24], ip[25], ip[39] = 1, 0x20, 1, 2
	} else {
		copy(b[12:], []byte{8, 0, 0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	}
	binary.BigEndian.PutUint16(ip[l4:], port)
	binary.BigEndian.PutUint16(ip[l4+2:], 80)
	binary.BigEndian.PutUint16(ip[l4+4:], uint16(100-l4))
	return b
}

// Packets of a mirror session, with any GRE type that it accepts, are read as copies.
func TestMirrorCopiesOfAnyGREType(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 95_000_000, Count: 2}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 32))
		types := []uint16{0x88be, 0x22eb, 0x6558, 0x8949, uint16(0x9000 + r.IntN(0x6fff)), uint16(r.IntN(0x600))}
		greType := types[(seed+1)%uint64(len(types))]
		at := tailstamp.At(time.Unix(1_700_000_000, 0))
		in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
		var packets []devicetest.Packet
		for n := range 10 {
			f := tailstamp.V1{}.Append(plainDatagram(n%2 == 1, 1), tailstamp.Record{SwitchID: 7, Ingress: at, Egress: at})
			packets = append(packets, devicetest.PacketAt(time.Unix(1000, int64(n)*1e6), f))
		}
		devicetest.WriteCapture(t, in, packets...)
		c := devicetest.TwoPorts()
		c["PORT"]["Ethernet2"] = map[string]string{"lanes": "2", "speed": "10000", "admin_status": "up"}
		c["INTERFACE"] = map[string]map[string]string{"Ethernet2": {}, "Ethernet2|203.0.113.1/24": {}}
		c["NEIGH"] = map[string]map[string]string{"Ethernet2|203.0.113.2": {"neigh": "02:00:00:00:00:c0", "family": "IPv4"}}
		c["MIRROR_SESSION"] = map[string]map[string]string{"far": {"src_ip": "203.0.113.1", "dst_ip": "203.0.113.2",
			"src_port": "Ethernet0", "direction": "RX", "gre_type": fmt.Sprintf("%#04x", greType)}}
		run := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
		run.Profile, run.Config = profile.Small(), c
		if _, err := run.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		stamps := collector.NewTailStamp(0, 0, false)
		for _, p := range readCapture(t, filepath.Join(out, "Ethernet2.pcap")) {
			stamps.Add(p.Data, p.At, p.Length)
		}
		if got := stamps.Report(); got.Mirrored != 10 || got.Records != 10 || got.Searched != 0 {
			t.Errorf("GRE type %#04x: %d copies with %d records, %d found by search, want 10 with 10",
				greType, got.Mirrored, got.Records, got.Searched)
		}
	})
}

// Frames match by their headers, whatever the length in their IP header. Frames whose datagram's end is unknown get
// no record, which is counted, and no record is read from them.
func TestAnyIPLengthMatches(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 96_000_000, Count: 2}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 33))
		in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
		var packets []devicetest.Packet
		stamped := 0
		for n := range 40 {
			v6 := r.IntN(2) == 0
			f := plainDatagram(v6, 1000)
			at, least, most := 16, 20, 100
			if v6 {
				at, least, most = 18, 1, 60
			}
			length := []int{0, most, most + 1, most + 4, least, r.IntN(most), r.IntN(1 << 16)}[r.IntN(7)]
			binary.BigEndian.PutUint16(f[at:], uint16(length))
			if length >= least && length <= most {
				stamped++
			}
			packets = append(packets, devicetest.PacketAt(time.Unix(1000, int64(n)*1e6), f))
		}
		devicetest.WriteCapture(t, in, packets...)
		run := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
		run.Profile, run.Config = profile.Small(), devicetest.TwoPorts()
		run.Config["ACL_RULE"]["TAM|all"]["IP_PROTOCOL"] = "17"
		report, err := run.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := report.TailStamping["s"]
		if *s.Matched != uint64(len(packets)) || *s.Stamped != uint64(stamped) ||
			s.NotStamped["cut"] != uint64(len(packets)-stamped) {
			t.Errorf("session counts matched %d, stamped %d, not stamped %v; want %d, %d", *s.Matched, *s.Stamped, s.NotStamped,
				len(packets), stamped)
		}
		c := collector.NewTailStamp(0, 0, false)
		for _, p := range readCapture(t, filepath.Join(out, "Ethernet1.pcap")) {
			c.Add(p.Data, p.At, p.Length)
		}
		got := c.Report()
		if got.Stamped != int64(stamped) || got.NoLength != int64(len(packets)-stamped) {
			t.Errorf("read back: %d stamped, %d of unknown length; want %d, %d", got.Stamped, got.NoLength, stamped,
				len(packets)-stamped)
		}
	})
}
