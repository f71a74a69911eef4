package erspan

import (
	"bytes"
	"testing"
)

// The headers are those of the draft, byte for byte.
func TestHeaders(t *testing.T) {
	for _, tt := range []struct {
		name string
		copy Copy
		ii   []byte
		iii  []byte
	}{
		{"of an untagged frame", Copy{Session: 0x155, Received: 0x01020304},
			[]byte{0x10, 0, 0x01, 0x55, 0, 0, 0, 0},
			[]byte{0x20, 0, 0x01, 0x55, 1, 2, 3, 4, 0, 0, 0x80, 0x02}},
		{"of a tagged one that is cut, as it left", Copy{Session: 1023, Tagged: true, VLAN: 0xa064, Cut: true, Egress: true},
			[]byte{0x10, 0x64, 0xbf, 0xff, 0, 0, 0, 0},
			[]byte{0x20, 0x64, 0xa7, 0xff, 0, 0, 0, 0, 0, 0, 0x80, 0x0a}},
	} {
		var ii [SizeII]byte
		var iii [SizeIII]byte
		tt.copy.PutII(&ii)
		tt.copy.PutIII(&iii)
		if !bytes.Equal(ii[:], tt.ii) || !bytes.Equal(iii[:], tt.iii) {
			t.Errorf("%s: type II is %x, want %x; type III is %x, want %x", tt.name, ii, tt.ii, iii, tt.iii)
		}
		for _, b := range [][]byte{ii[:], iii[:]} {
			if got := Session(b); got != tt.copy.Session {
				t.Errorf("%s: session %d", tt.name, got)
			}
		}
	}
}

// A header is never longer than its input, and a frame that follows has an Ethernet header.
func FuzzSize(f *testing.F) {
	f.Add(uint16(GREType), true, make([]byte, 22))
	f.Add(uint16(GREType3), true, append(make([]byte, 11), 1))
	f.Add(uint16(GRETypeEthernet), false, make([]byte, 14))
	f.Fuzz(func(t *testing.T, greType uint16, sequence bool, b []byte) {
		if n, ok := Size(greType, sequence, b); ok && (n+14 > len(b) || Other(greType) != "") {
			t.Errorf("%#04x, %v: %d bytes of %d", greType, sequence, n, len(b))
		}
	})
}
