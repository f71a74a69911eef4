package device_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
)

var update = flag.Bool("update", false, "rewrite golden files")

// docs/internals/timing.md has a table made by hand. Each cell must match the output of `tamtam sim --trace` for the
// same packets.
func TestTimingPage(t *testing.T) {
	const dir = "../docs/timing/"
	at := func(ns int) time.Time { return time.Unix(1_000_000_000, int64(ns)) }
	if *update {
		udp := func(n int) []byte {
			return devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 5000, DstPort: 6000},
				devicetest.Payload(n-42))
		}
		devicetest.WriteCapture(t, dir+"a.pcap", devicetest.PacketAt(at(0), udp(60)))
		devicetest.WriteCapture(t, dir+"bc.pcap", devicetest.PacketAt(at(30), udp(60)), devicetest.PacketAt(at(31), udp(100)))
	}
	config, err := device.ReadConfigDB(dir + "config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", dir+"a.pcap", "Ethernet1", dir+"bc.pcap"),
		Out:   t.TempDir(),
		Trace: &trace}
	r.Profile, r.Config = profile.Small(), config
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/internals/timing.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{} // values by place in the chip, one for each packet
	for _, line := range strings.Split(trace.String(), "\n") {
		if len(line) >= 31 && line[0] == ' ' {
			place := strings.TrimSpace(line[:20])
			want[place] = append(want[place], strings.TrimSpace(line[20:31]))
		}
	}
	rows := 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		place := strings.TrimSpace(cells[0])
		if len(cells) != 4 || want[place] == nil {
			continue
		}
		rows++
		for i, cell := range cells[1:] { // the result is the last number of the cell
			words := strings.Fields(cell)
			if got := words[len(words)-1]; got != want[place][i] {
				t.Errorf("docs/internals/timing.md: %s of packet %d is %s, the simulator says %s", place, i+1, got, want[place][i])
			}
		}
	}
	if rows != len(want) {
		t.Errorf("docs/internals/timing.md has %d places in its table, the trace %d", rows, len(want))
	}
}
