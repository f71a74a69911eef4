package lab

import (
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"tamtam/collector/capture"
	"tamtam/internal/racetest"
)

const numberedPair = `
experiment: numbers
duration: 300us
switches:
- name: s1
  profile: small
  config:
    PORT:
      Ethernet0: {lanes: "0", speed: "10000", admin_status: up}
      Ethernet1: {lanes: "1", speed: "10000", admin_status: up}
    VLAN: {Vlan10: {vlanid: "10"}}
    VLAN_MEMBER: {Vlan10|Ethernet0: {tagging_mode: untagged}, Vlan10|Ethernet1: {tagging_mode: untagged}}
hosts:
- {name: a, ips: [10.0.0.1/24], capture: true}
- {name: b, ips: [10.0.0.2/24], capture: true}
links:
- {a: a, b: "s1:Ethernet0"}
- {name: far, a: "s1:Ethernet1", b: b, loss: 0.1, duplicate: 0.05}
traffic:
- {name: t, from: a, to: b, pps: 400000, start: 10us, stop: 260us}
`

// numbersIn returns how often each number occurs in the frames of a capture. It reads them from UDP's payload as
// docs/lab.md describes.
func numbersIn(t *testing.T, path string) map[uint32]int {
	t.Helper()
	in, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	times := map[uint32]int{}
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return times
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) >= 46 && binary.BigEndian.Uint16(p.Data[12:]) == typeIPv4 && p.Data[23] == protoUDP {
			times[binary.BigEndian.Uint32(p.Data[42:])]++
		}
	}
}

// The captures of sender and receiver show the same losses and duplicates as the lab reports, by the numbers in the
// payload alone.
func TestNumbersInCaptures(t *testing.T) {
	racetest.Stepped(t)
	dir := t.TempDir()
	top, err := Parse("numbers.yaml", []byte(numberedPair), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, Options{Out: dir, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sent, received := numbersIn(t, filepath.Join(dir, "a.sent.pcap")), numbersIn(t, filepath.Join(dir, "b.received.pcap"))
	lost, twice := uint64(0), uint64(0)
	for n := range sent {
		switch received[n] {
		case 0:
			lost++
		case 2:
			twice++
		}
		if sent[n] != 1 || received[n] > 2 {
			t.Errorf("number %d: sent %d times, received %d times", n, sent[n], received[n])
		}
	}
	f := r.Flows["t"]
	if uint64(len(sent)) != f.Sent || lost != f.Lost || lost == 0 || twice == 0 || uint64(len(received))+lost != f.Sent {
		t.Errorf("%d sent, %d lost, %d twice by captures; the lab says %+v", len(sent), lost, twice, f)
	}
}
