package device_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
)

// The truth and the packet accounts in the report of a run are compared with values computed by hand. Five frames enter
// at Ethernet0. Two UDP frames and an ARP frame cross the switch and count for the session. One frame's VLAN does not
// exist, and one frame is a runt.
func TestTruthInTheReport(t *testing.T) {
	udp := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 5000, DstPort: 6000},
		devicetest.Payload(100))
	arp := devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeARP), devicetest.Payload(46))
	stray := devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeDot1Q),
		&layers.Dot1Q{VLANIdentifier: 30, Type: layers.EthernetTypeIPv4},
		devicetest.IPv4(layers.IPProtocolUDP),
		&layers.UDP{SrcPort: 5000, DstPort: 6000}, devicetest.Payload(100))
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	at := func(us int64) time.Time { return time.Unix(1000, us*1000) }
	devicetest.WriteCapture(t, in, devicetest.PacketAt(at(0), udp), devicetest.PacketAt(at(1), udp),
		devicetest.PacketAt(at(2), arp),
		devicetest.PacketAt(at(3), stray), devicetest.PacketAt(at(4), udp[:10]))
	r := device.Replay{Inputs: devicetest.Inputs("etp1", in), Out: out, Truth: true}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	r.Config["COPP_TRAP"] = noARP()
	r.Config["ACL_RULE"]["TAM|all"] = map[string]string{"IN_PORTS": "etp1"}
	r.Config["TAM_FLOWGROUP_TABLE"]["vlan"] = map[string]string{"id": "2"}
	r.Config["ACL_RULE"]["TAM|vlan"] = map[string]string{"VLAN_ID": "10", "IP_TYPE": "IP"}
	r.Config["TAM_FLOWGROUP_TABLE"]["odd"] = map[string]string{"id": "3"}
	r.Config["ACL_RULE"]["TAM|odd"] = map[string]string{"TC": "3"}
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := report.Accounts
	if !b.Balanced || b.Received != 5 || b.Sent != 3 || b.DroppedAll != 2 || b.Dropped["no-vlan"] != 1 ||
		b.Dropped["runt"] != 1 {
		t.Errorf("books %+v", b)
	}
	if p := report.Ports["Ethernet0"]; p.Received != 5 || p.IntoPipe != 4 || !p.Balanced {
		t.Errorf("Ethernet0 %+v", p)
	}
	if q := report.Ports["Ethernet1"].Queues["0"]; q.Enqueued != 3 || q.Dequeued != 3 || !q.Balanced || q.MaxBytes == 0 ||
		len(q.NoRoom) > 0 {
		t.Errorf("queue of Ethernet1 %+v", q)
	}
	all, vlan := report.Truth["all"], report.Truth["vlan"]
	// Frames have 150 or 64 bytes with FCS, plus 32 of the record, at 0.8 ns per byte. The SFD of the output leaves 28
	// + 8 cycles after the last byte has arrived.
	if all.Frames != 5 || all.Delivered != 3 || len(all.Lost) != 2 || all.Lost[0].Port != "Ethernet0" ||
		all.Delay.MaxPs != (146+36)*800 || all.Delay.MinPs != (64+36)*800 {
		t.Errorf("all: %+v", all.Report)
	}
	if vlan.Frames != 2 || vlan.Delivered != 2 {
		t.Errorf("vlan 10: %+v", vlan.Report)
	}
	// Neither the stray frame nor the runt reached the ACL.
	if e := all.Estimates["s matched"]; e != (device.Estimate{3, 5, -2}) {
		t.Errorf("matched %+v", e)
	}
	if e := all.Estimates["s left"]; e != (device.Estimate{3, 3, 0}) {
		t.Errorf("left %+v", e)
	}
	last := report.Problems[len(report.Problems)-1]
	if last.Object != "ACL_RULE|TAM|odd" || !strings.Contains(last.Reason, "does not know this match") {
		t.Errorf("problems %v", report.Problems)
	}
}

// The files of a run do not depend on those that an earlier run left in the directory.
func TestOutputsOfAnEarlierRun(t *testing.T) {
	udp := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 5000, DstPort: 6000},
		devicetest.Payload(100))
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	devicetest.WriteCapture(t, in, devicetest.PacketAt(time.Unix(1000, 0), udp))
	for name, text := range map[string]string{
		"report.json":    `{"ports": {"Ethernet0": {}, "Ethernet8": {}, "../Ethernet9": {}, "mine": {}}}`,
		"Ethernet8.pcap": "old", "Ethernet12.pcap": "not of that run",
	} {
		devicetest.NoError(t, os.WriteFile(filepath.Join(out, name), []byte(text), 0o644))
	}
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "*"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if got, want := strings.Join(files, " "),
		"CPU.pcap Ethernet0.pcap Ethernet1.pcap Ethernet12.pcap report.json"; err != nil || got != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}

func TestConfigDBDoubled(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{\"PORT\": {\"Ethernet0\": {\"lanes\": \"0\",\n\"lanes\": \"1\"}}}",
			`line 2: "PORT": "Ethernet0": "lanes" is there twice`},
		{"{\"PORT\": {\"Ethernet0\": {}, \"Ethernet0\": {}}}", `line 1: "PORT": "Ethernet0" is there twice`},
		{"{\"PORT\": {},\n\n\"PORT\": {}}", `line 3: "PORT" is there twice`},
		{`{"PORT": {"Ethernet0": {"a@": ["x", "x"], "b": "x"}, "Ethernet1": {"b": "b"}}, "b": {"b": {"b": "b"}}}`, ""},
	} {
		_, err := device.ParseConfigDB([]byte(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// No config_db.json makes the reader panic.
func FuzzConfigDB(f *testing.F) {
	f.Add([]byte(`{"PORT": {"Ethernet0": {"lanes": "0", "lanes": ["1"]}}, "VLAN": []}`))
	f.Add([]byte(`{"a": {"a": {"a": {}, "a": [[{}], {"b": {"b": 1}}]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := device.ParseConfigDB(text); err == nil && c == nil {
			t.Error("neither rows nor an error")
		}
	})
}
