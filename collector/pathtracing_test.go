package collector

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
)

// Hops are printed in the order of the path, damage as its fault, and a full list with a warning.
func TestDecodePathTracing(t *testing.T) {
	const ethernet, fixed = "020000000001" + "020000000002" + "86dd", "60000000" + "0010" + "0040" +
		"20010db8000000000000000000000001" + "20010db8000000000000000000000002"
	path := filepath.Join(t.TempDir(), "probes.pcap")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := capture.NewWriter(file, path)
	for i, text := range []string{
		ethernet + fixed + "3b01" + "3206" + "0de007" + "06f35a" + "000000000000", // 222 after 111
		ethernet + fixed + "3b01" + "3209" + "06f35a" + "000000" + "000000" + "000000",
		ethernet + fixed + "3b01" + "3204" + "06f35a00" + "0000000000000000",
		"020000000001" + "020000000002" + "0800" + strings.Repeat("00", 46),
	} {
		frame, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(time.Unix(1700000000, int64(i)), frame, len(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		opts PathTracingOptions
		want []string
	}{
		{PathTracingOptions{Names: map[uint16]string{222: "spine1 Ethernet4"}}, []string{
			"1 2023-11-14T22:13:20Z 2001:db8::1 -> 2001:db8::2: 111 load 3 time 0x5a, 222=spine1 Ethernet4 load 0 time 0x07 " +
				"(full: older hops may be missing)",
			"2 2023-11-14T22:13:20.000000001Z 2001:db8::1 -> 2001:db8::2: 111 load 3 time 0x5a",
			"3 2023-11-14T22:13:20.000000002Z 2001:db8::1 -> 2001:db8::2: damaged: the list has 4 bytes, want a multiple of 3",
			"4 packets, 2 with a list of hops, 1 with a damaged one",
		}},
		{PathTracingOptions{JSON: true}, []string{
			`{"packet":1,"time":"2023-11-14T22:13:20Z","src":"2001:db8::1","dst":"2001:db8::2","hops":[{"interface":111,` +
				`"load":3,"time":90},{"interface":222,"load":0,"time":7}],"places":2,"full":true}`,
			`{"packet":2,"time":"2023-11-14T22:13:20.000000001Z","src":"2001:db8::1","dst":"2001:db8::2","hops":[{` +
				`"interface":111,"load":3,"time":90}],"places":3}`,
			`{"packet":3,"time":"2023-11-14T22:13:20.000000002Z","src":"2001:db8::1","dst":"2001:db8::2","hops":[],` +
				`"places":0,"error":"the list has 4 bytes, want a multiple of 3"}`,
			`{"packets":4,"traced":2,"damaged":1}`,
		}},
	} {
		var out strings.Builder
		if err := DecodePathTracing(t.Context(), &out, path, tt.opts); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), strings.Join(tt.want, "\n")+"\n"; got != want {
			t.Errorf("printed\n%swant\n%s", got, want)
		}
	}
}
