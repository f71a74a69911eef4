package experiments

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"tamtam/collector/capture"
	"tamtam/lab"
	"tamtam/saisim"
	"tamtam/swss"
)

// arrivals collects the frames that come to a switch.
type arrivals struct{ frames [][]byte }

func (a *arrivals) Saw(m saisim.Moment) {
	if m.What == saisim.MomentReceived {
		a.frames = append(a.frames, bytes.Clone(m.Data))
	}
}

func (a *arrivals) Restarted() {}

// framesIn returns the frames of a capture with UDP over IPv4, by the number at the beginning of their payload.
func framesIn(t *testing.T, file string) map[uint32][]byte {
	t.Helper()
	in, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all := map[uint32][]byte{}
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Data) >= 46 && f.Data[12] == 8 && f.Data[23] == 17 {
			all[binary.BigEndian.Uint32(f.Data[42:])] = bytes.Clone(f.Data)
		}
	}
}

// goldenHeader holds the headers in front of the IPv4 packet of a small frame between first and second, as tshark shows
// them:
//
//	Ethernet II, Src: 02:00:00:00:01:01, Dst: 02:00:00:00:01:02, Type: IPv6
//	Internet Protocol Version 6, Src: 2001:db8:ff::1, Dst: 2001:db8:ff::3
//	    Traffic Class: 0x00, Flow Label: 0x00000
//	    Payload Length: 54      8 of options, 46 of the IPv4 packet
//	    Next Header: 60         Destination Options for IPv6
//	    Hop Limit: 9            encap-hop-limit, as it leaves
//	    Destination Options
//	        Next Header: 4      IPv4
//	        Length: 0           8 bytes
//	        Option Type: 0x12   AltMark, RFC 9343; on from an unknown: skip it, may change on the way: no
//	        Option Length: 4
//	        FlowMonID 0x12345 (20 bits), then L, D and 10 reserved bits
const goldenHeader = "020000000102" + "020000000101" + "86dd" +
	"60000000" + "0036" + "3c" + "09" + "20010db800ff00000000000000000001" + "20010db800ff00000000000000000003" +
	"04" + "00" + "12" + "04" + "123450" // and 4 bits L, D and 0

// Packets get a header with the option at the first switch and lose it at the last. The server receives the bytes that
// the client sent, except for MAC addresses and the TTL. Only what the links lost is missing.
func TestAltMarkEncapEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	top, err := Open("altmark-encap", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := lab.New(t.Context(), top, lab.Options{Out: dir, Workers: 1, Seed: top.Seed})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var between arrivals
	l.Tap("second").Watch(&between)
	if err := l.Run(t.Context(), top.RunTime()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web := r.Flows["web"]
	counted := func(at, field string) (n string) {
		sim := l.Tap(at).Sim()
		if err := sim.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, err := sim.Redis.DB(swss.CountersDB).Client().HGet(t.Context(), "TAM_ALTMARK_COUNTERS:web", field).Result()
		if err != nil {
			t.Errorf("%s of %s: %v", field, at, err)
		}
		return n
	}
	for _, at := range []string{"first", "last"} {
		for _, field := range []string{"ENCAP_TOO_LONG", "DECAP_DAMAGED"} {
			if n := counted(at, field); n != "0" {
				t.Errorf("%s of %s is %s", field, at, n)
			}
		}
	}
	if put, taken := counted("first", "ENCAPSULATED"),
		counted("last", "DECAPSULATED"); put == "0" || taken == "0" || put <= taken && len(put) == len(taken) {
		t.Errorf("%s got a header, and it was taken off %s", put, taken)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	golden, marked := 0, [4]int{}
	for _, f := range between.frames {
		if f[12] != 0x86 {
			continue
		}
		marked[f[60]>>2&3]++
		if len(f) == 108 && hex.EncodeToString(f[:61])[:len(goldenHeader)-1] == goldenHeader[:len(goldenHeader)-1] &&
			f[60]>>4 == 5 {
			golden++
		}
	}
	if golden < 1000 || marked[0] == 0 || marked[2] == 0 || marked[1]+marked[3] < 10 {
		t.Errorf("%d small frames have the header that they should; by L and D: %d", golden, marked)
	}
	sent, got := framesIn(t, filepath.Join(dir, "client.sent.pcap")),
		framesIn(t, filepath.Join(dir, "server.received.pcap"))
	if len(got) != int(web.Received) || len(sent) != int(web.Sent) || web.Received == 0 || web.Sent == web.Received {
		t.Errorf("%d frames sent and %d received; the lab says %d and %d", len(sent), len(got), web.Sent, web.Received)
	}
	for number, f := range got {
		want := bytes.Clone(sent[number])
		if len(want) < 46 {
			t.Fatalf("frame %d was not sent", number)
		}
		copy(want, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 1, 3}) // addresses of the server and of switch last
		want[22] -= 2                                          // two routers have forwarded the packet: first and last
		binary.BigEndian.PutUint16(want[24:], 0)
		sum := uint32(0)
		for at := 14; at < 34; at += 2 {
			sum += uint32(binary.BigEndian.Uint16(want[at:]))
		}
		binary.BigEndian.PutUint16(want[24:], ^uint16(sum>>16+sum&0xffff))
		if !bytes.Equal(f, want) {
			t.Fatalf("frame %d:\n got %x\nwant %x", number, f, want)
		}
	}
}
