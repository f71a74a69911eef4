package reports

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/host/cpuport"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// frames returns datagrams of 3 bytes from port 50000 to port 4739, with DSCP 10 and 32.
func frames(t testing.TB) (four, six []byte) {
	t.Helper()
	of := func(text string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const ethernet, udp = "020000000001 020000000002 ", "c350 1283 000b 0000 616263"
	return of(ethernet + "0800 4528001f 00000000 4011 0000 c0000201 c0000207" + udp),
		of(ethernet + "86dd 68000000 000b 11 40 20010db8000000000000000000000001 20010db8000000000000000000000007" + udp)
}

func TestParse(t *testing.T) {
	four, six := frames(t)
	for _, tt := range []struct {
		frame    []byte
		from, to string
		dscp     uint8
	}{
		{four, "192.0.2.1:50000", "192.0.2.7:4739", 10},
		{append(bytes.Clone(four), 0, 0, 0, 0), "192.0.2.1:50000", "192.0.2.7:4739", 10}, // padded, as short frames are
		{six, "[2001:db8::1]:50000", "[2001:db8::7]:4739", 32},
	} {
		d, err := Parse(tt.frame)
		if err != nil || d.From.String() != tt.from || d.To.String() != tt.to || d.DSCP != tt.dscp ||
			string(d.Payload) != "abc" {
			t.Errorf("%+v, %v", d, err)
		}
	}
	change := func(b []byte, at int, to byte) []byte {
		b = bytes.Clone(b)
		b[at] = to
		return b
	}
	for _, tt := range []struct {
		frame []byte
		want  string
	}{
		{four[:13], "a frame of 13 bytes, want the 14 of Ethernet at least"},
		{change(four, 13, 6), "EtherType 0x0806, want IPv4 or IPv6"},
		{change(four, 14, 0x46), "UDP without options"},
		{change(four, 20, 0x20), "in one fragment"},
		{four[:40], "IPv4 of 31 bytes in 26"},
		{change(four, 39, 12), "11 bytes of UDP, want its header and the length in it"},
		{change(six, 20, 6), "UDP without extension headers"},
		{six[:60], "IPv6 of 51 bytes in 46"},
	} {
		if _, err := Parse(tt.frame); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%x: %v, want %s", tt.frame, err, tt.want)
		}
	}
}

// Whatever a frame contains, its payload is part of it.
func FuzzParse(f *testing.F) {
	four, six := frames(f)
	f.Add(four)
	f.Add(six)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		if !bytes.Contains(b, d.Payload) || d.From.Addr().Is4() != d.To.Addr().Is4() || d.DSCP > 63 {
			t.Errorf("%+v of %x", d, b)
		}
	})
}

// A sender counts the limited number of streams, and removes the rows of an earlier one.
func TestSenderCounts(t *testing.T) {
	r := swsstest.Start(t)
	table := swss.NewTable(r.DB(swss.CountersDB), schema.CountersManagementReports)
	if err := table.Set(t.Context(), "left", swss.FieldValues{"MESSAGES": "1"}); err != nil {
		t.Fatal(err)
	}
	d := orch.NewDaemon("hostd", r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	fail := errors.New("no route to host")
	s := New(Config{Daemon: d, Redis: r, Send: func(d Datagram) error {
		if d.To.Port() == 1 {
			return fail
		}
		return nil
	}})
	now := time.Unix(1_700_000_000, 0)
	step := func() map[string]swss.FieldValues {
		now = now.Add(2 * reportPeriod)
		if _, err := d.Step(context.Background(), now); err != nil {
			t.Fatal(err)
		}
		rows, err := table.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	step()
	four, _ := frames(t)
	send := func(port byte) {
		b := bytes.Clone(four)
		b[36], b[37] = 0, port
		s.Receive(cpuport.Packet{Trap: Trap, Data: b, Len: len(b)})
	}
	send(2)
	send(2)
	send(1)
	s.Receive(cpuport.Packet{Trap: Trap, Data: four, Len: len(four) + 1}) // a truncated frame
	rows := step()
	for port, want := range map[int]string{2: "2 0 ", 1: "0 1 no route to host"} {
		row := rows[fmt.Sprintf("192.0.2.1:50000>192.0.2.7:%d", port)]
		if got := row["MESSAGES"] + " " + row["ERRORS"] + " " + row["LAST_ERROR"]; got != want {
			t.Errorf("to port %d: %q, want %q", port, got, want)
		}
	}
	if len(rows) != 2 {
		t.Errorf("rows: %v", rows)
	}
	fail = nil
	send(1)
	if row := step()["192.0.2.1:50000>192.0.2.7:1"]; row["LAST_ERROR"] != "" || row["ERRORS"] != "1" ||
		row["MESSAGES"] != "1" {
		t.Errorf("after it went well: %v", row)
	}
	for port := range 100 {
		send(byte(100 + port))
	}
	if rows := step(); len(rows) != MaxStreams || rows["192.0.2.1:50000>192.0.2.7:199"] == nil {
		t.Errorf("%d rows of 102 streams", len(rows))
	}
	if now := netip.MustParseAddrPort("192.0.2.7:1"); s.streams[schema.DropStream(
		netip.MustParseAddrPort("192.0.2.1:50000"), now)] != nil {
		t.Error("the stream that was quiet for the longest is remembered")
	}
}
