package hostifd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tamtam/host/cpuport"
	"tamtam/orch"
)

type sentFrames []cpuport.Frame

func (s *sentFrames) Send(f cpuport.Frame) error { *s = append(*s, f); return f.Check() }

// A host that has an address of the switch is logged; the switch's own frames and those of other addresses are not.
func TestAddressOfTheSwitchIsSomebodyElses(t *testing.T) {
	b := newBench(t)
	var log bytes.Buffer
	d := orch.NewDaemon("hostifd", b.r, orch.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	b.t.Cleanup(func() { d.Close() })
	b.d, b.s = d, New(Config{Daemon: d, Redis: b.r, Host: b.host})
	b.ports()
	var sent sentFrames
	if err := d.Do(t.Context(), func() { b.s.SetLine(&sent) }); err != nil {
		t.Fatal(err)
	}
	b.step()
	const other, own = "\x02\x00\x00\x00\x00\x99", "\x02\x00\x00\x00\x00\xaa"
	arp := func(mac, sender string) string {
		return "\xff\xff\xff\xff\xff\xff" + mac + "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x02" + mac + sender +
			strings.Repeat("\x00", 10)
	}
	gateway := "\x0a\x01\x00\x01"
	six := "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + "\x01"
	advertisement := func(mac string) string {
		return "\x33\x33\x00\x00\x00\x01" + mac + "\x86\xdd" + "\x60\x00\x00\x00\x00\x18\x3a\xff" +
			strings.Repeat("\x00", 32) + "\x88\x00\x00\x00\x00\x00\x00\x00" + six
	}
	heard := func(what, port string, vlan uint16, frame, want string) {
		t.Helper()
		log.Reset()
		p := cpuport.Packet{Port: port, VLAN: vlan, Data: []byte(frame), Len: len(frame)}
		if err := d.Do(t.Context(), func() { b.s.Received(&p) }); err != nil {
			t.Fatal(err)
		}
		b.step()
		if got := log.String(); (want == "") == strings.Contains(got, "another host uses") || !strings.Contains(got, want) {
			t.Errorf("%s: logged %q, want %q", what, got, want)
		}
	}
	at := `level=WARN msg="another host uses an address of the switch" interface=Vlan10 address=10.1.0.1 ` +
		`mac=02:00:00:00:00:99`
	heard("the gateway of a VLAN", "Ethernet0", 10, arp(other, gateway), at)
	heard("at once again", "Ethernet0", 10, arp(other, gateway), "")
	for range 5 { // the host does not answer the probes
		b.pass(20 * time.Second)
	}
	tagged := arp(other, gateway)
	tagged = tagged[:12] + "\x81\x00\x00\x0a" + tagged[12:]
	if len(sent) != 3 || sent[0].VLAN != 10 || sent[0].Port != "" {
		t.Errorf("asked %d times, want 3 times in VLAN 10: %+v", len(sent), sent)
	}
	heard("later, with a tag", "Ethernet0", 10, tagged, at)
	heard("the switch's own", "Ethernet0", 10, arp(own, gateway), "")
	heard("at another interface", "Ethernet0", 0, arp(other, gateway), "")
	heard("another address", "Ethernet0", 10, arp(other, "\x0a\x01\x00\x02"), "")
	heard("by IPv6", "Ethernet0", 0, advertisement(other), "interface=Ethernet0 address=2001:db8::1 mac=02:00:00:00:00:99")
	heard("the switch's own by IPv6", "Ethernet0", 0, advertisement(own), "")
	for n := range len(tagged) {
		heard("what was cut", "Ethernet0", 0, tagged[:n], "")
	}
}
