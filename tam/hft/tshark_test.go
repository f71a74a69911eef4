package hft

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// frame returns a UDP datagram to IPFIX's port as an Ethernet frame.
func frame(payload []byte) []byte {
	b := append(make([]byte, 12), 8, 0, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(28+len(payload)))
	b = append(b, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x83, 0x12, 0x83)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// Another implementation of RFC 7011 reads a conforming stream without an error: its times, its sequence numbers over a
// change of templates, and every value.
func TestTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: conforming streams are not compared with it")
	}
	capture := []byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x01\x00\x00\x00")
	c := Config{Format: Conforming, Size: 1400, Domain: 5, Refresh: time.Minute, RefreshMessages: 3, Bulk: 1}
	s := newStream(t, c, []Column{port("Ethernet0", 1, 0), port("Ethernet4", 2, 66)}, func(m Message) {
		f := frame(m.Bytes)
		for _, n := range []uint32{100, 0, uint32(len(f)), uint32(len(f))} {
			capture = binary.LittleEndian.AppendUint32(capture, n)
		}
		capture = append(capture, f...)
	})
	for i := range int64(6) {
		if i == 3 {
			if err := s.Configure([]Column{port("Ethernet4", 2, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		sample(t, s, time.Unix(100, 0), 1_000_000_000+i, []uint64{uint64(1000 + i), 7}[:len(s.Columns())]...)
	}
	path := filepath.Join(t.TempDir(), "f.pcap")
	if err := os.WriteFile(path, capture, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tshark", append([]string{"-r", path}, args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, &stderr)
		}
		return string(out)
	}
	// Severity 6291456 is that of a warning.
	const faults = "_ws.malformed || cflow.unexpected_sequence_number || _ws.expert.severity >= 6291456"
	if wrong := run("-Y", faults); wrong != "" {
		t.Errorf("tshark finds errors:\n%s", wrong)
	}
	text := run("-V")
	for want, n := range map[string]int{
		"Observation Time Nanoseconds: Jan  1, 1970 00:00:01.00000000": 6,
		"saiPortStatIfInOctets":                                 2,
		"saiPortStatOutWatermarkBytes":                          1,
		"Type 4096: Value (hex bytes): 00 00 00 00 00 00 03 e8": 1,
		"Type 4096: Value (hex bytes): 00 00 00 00 00 00 03 ed": 1,
		"Type 4162: Value (hex bytes): 00 00 00 00 00 00 00 07": 3,
	} {
		if got := strings.Count(text, want); got < n {
			t.Errorf("%d times %q in tshark's output, want %d", got, want, n)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
