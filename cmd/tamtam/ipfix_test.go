package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/export"
	"tamtam/collector/marks"
	"tamtam/internal/command"
)

// Errors on the command lines with IPFIX are reported by name.
func TestIPFIXRefuses(t *testing.T) {
	try(t, "collect",
		line{"tailstamp e --ipfix here", command.ExitUsage, `--ipfix: "here": want HOST:PORT[,HOST:PORT...]`},
		line{"tailstamp e --ipfix h:1,", command.ExitUsage, `--ipfix: "": want HOST:PORT`},
		line{"tailstamp e --ipfix 127.0.0.1:9 --ipfix-mtu 100", command.ExitUsage, "--ipfix: MTU 100, want 560 to 65535"},
		line{"tailstamp e --ipfix 127.0.0.1:9 --ipfix-domain 0", command.ExitUsage, "observation domain 0, want 1 or more"},
		line{"tailstamp e --ipfix 127.0.0.1:9 --ipfix-refresh 0s", command.ExitUsage, "want more than 0"},
		line{"tailstamp e --ipfix 127.0.0.1:9 --enterprise-id 0", command.ExitUsage, "--enterprise-id 0: want 1 or more"},
		line{"tailstamp e --enterprise-id 5", command.ExitUsage, "--enterprise-id without --ipfix"},
		line{"tailstamp nowhere --ipfix 127.0.0.1:9", command.ExitFailed, "interface nowhere: "},
		line{"ipfix --format xml", command.ExitUsage, `--format "xml"`},
		line{"ipfix --count -1", command.ExitUsage, "--count -1"},
		line{"ipfix --enterprise-id 0", command.ExitUsage, "--enterprise-id 0"},
		line{"ipfix --read f --listen :1", command.ExitUsage, "--read f and --listen :1: want one of them"},
		line{"ipfix --listen nowhere", command.ExitFailed, "--listen nowhere: "},
		line{"ipfix --read /nowhere", command.ExitFailed, "/nowhere: no such file"})
}

// missing returns a result of alternate marking without any measurement.
func missing(period uint64) marks.Result {
	return marks.Result{Path: "p", From: "a", To: "b", Period: period, Status: marks.Missing,
		Reasons: []string{"b: no report"}}
}

// Records that come by UDP are printed as they come, and summarised at the end. Messages that are not IPFIX are
// reported.
func TestCollectIPFIX(t *testing.T) {
	to, end := listening(t, "collect", "ipfix", "--listen", "127.0.0.1:0", "--enterprise-id", "77", "--count", "28")
	x := ipfixOut{to: to, opts: export.Options{Enterprise: 77, Domain: 3, MTU: 1500, Refresh: time.Minute,
		RefreshMessages: 10}}
	cmd := newCollectTailStamp(false)
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	if err := x.dial(cmd); err != nil {
		t.Fatal(err)
	}
	for period := range uint64(3) { // with 24 descriptions of elements and the counts 28 records
		if err := x.results([]marks.Result{missing(period)}); err != nil {
			t.Fatal(err)
		}
	}
	x.close()
	code, out := end()
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{
		` domain 3 template 1281 sequence 2 tamtamPeriod=2 tamtamPath="p" tamtamFrom="a" tamtamTo="b" tamtamPeriodStatus=3 ` +
			`tamtamReasons="b: no report" tamtamRevised=false` + "\n",
		` informationElementName="tamtamSwitchId" `, ": 28 records in ", ", 0 lost\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// frameOf returns a UDP frame.
func frameOf(t *testing.T, from netip.AddrPort, payload string) []byte {
	t.Helper()
	b, err := hex.DecodeString("02000000000202000000000108004500" + "0000" + "000000004011000000000000c0000202")
	if err != nil {
		t.Fatal(err)
	}
	a := from.Addr().As4()
	copy(b[26:], a[:])
	b = append(b, byte(from.Port()>>8), byte(from.Port()), 0x12, 0x83, 0, byte(8+len(payload)), 0, 0)
	b = append(b, payload...)
	b[17] = byte(len(b) - 14)
	return b
}

// Messages are read from a capture. Datagrams to another port, and truncated ones, are left out, and their number is
// reported.
func TestReadIPFIX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messages.pcap")
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	// Template 256 with sourceTransportPort, a record of it, and then a record without a template.
	const template = "\x00\x0a\x00\x22\x65\x53\xf1\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x02\x00\x0c\x01\x00\x00\x01" +
		"\x00\x07\x00\x02\x01\x00\x00\x06\x00\x50"
	const other = "\x00\x0a\x00\x16\x65\x53\xf1\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01\x01\x00\x06\x00\x50"
	from := netip.MustParseAddrPort("192.0.2.1:5000")
	for _, payload := range []string{template, other, "none"} {
		f := frameOf(t, from, payload)
		if err := w.Write(time.Unix(1700000000, 0), f, len(f)); err != nil {
			t.Fatal(err)
		}
	}
	f := frameOf(t, from, template)
	if err := w.Write(time.Unix(1700000000, 0), f[:60], len(f)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	code := run(t.Context(), []string{"collect", "ipfix", "--read", path, "--format", "json", "--port", "4739"}, nil, &out,
		&errOut)
	if want := "tamtam: 1 frames are cut by the snap length, and were not read\n"; code != 0 || errOut.String() != want {
		t.Errorf("exit %d, %q, want %q", code, &errOut, want)
	}
	var got []map[string]any
	for d := json.NewDecoder(&out); d.More(); {
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if len(got) != 3 || got[0]["fields"].(map[string]any)["sourceTransportPort"] != 80.0 ||
		got[1]["error"] != "ipfix: byte 0: message: 4 bytes, want the 16 of its header and more" ||
		got[2]["sets_without_template"] != 1.0 || got[2]["bad_messages"] != 1.0 {
		t.Errorf("%v", got)
	}
	errOut.Reset()
	code = run(t.Context(), []string{"collect", "ipfix", "--read", path, "--port", "9"}, nil, &out, &errOut)
	if want := "has no datagram to UDP port 9 that is whole"; code != 0 || !strings.Contains(errOut.String(), want) {
		t.Errorf("exit %d, %q, want %q", code, &errOut, want)
	}
}

// Fragmented messages are reassembled, and none of them is lost. A missing fragment is reported. The gap in the
// sequence numbers belongs to the message that could not be read.
func TestReadFragments(t *testing.T) {
	message := func(number byte) string { // template 256 with sourceTransportPort, and four records of it
		return "\x00\x0a\x00\x28\x65\x53\xf1\x00\x00\x00\x00" + string([]byte{number}) +
			"\x00\x00\x00\x01\x00\x02\x00\x0c\x01\x00\x00\x01" +
			"\x00\x07\x00\x02\x01\x00\x00\x0c\x00\x50\x00\x51\x00\x52\x00\x53"
	}
	from := netip.MustParseAddrPort("192.0.2.1:5000")
	for _, missing := range []int{-1, 0, 1} {
		path := filepath.Join(t.TempDir(), "messages.pcap")
		w, err := capture.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(f []byte) {
			if err := w.Write(time.Unix(1700000000, 0), f, len(f)); err != nil {
				t.Fatal(err)
			}
		}
		write(frameOf(t, from, message(0)))
		frame := frameOf(t, from, message(4))
		for i, f := range [][]byte{frame[:14+20+24], append(frame[:34:34], frame[14+20+24:]...)} {
			f = bytes.Clone(f)
			f[17], f[19] = byte(len(f)-14), 9
			if f[20] = 0x20; i == 1 {
				f[20], f[21] = 0, 3
			}
			if i != missing {
				write(f)
			}
		}
		write(frameOf(t, from, message(8)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		code := run(t.Context(), []string{"collect", "ipfix", "--read", path}, nil, &out, &errOut)
		want := map[int]string{
			-1: "12 records in 3 messages, 0 lost\n",
			0:  "8 records in 2 messages, 4 lost\n", // the missing fragment contains the message
			1: "8 records in 3 messages, 0 lost, 1 messages that are wrong, " +
				"4 records that could not be read, or were lost beside them\n",
		}[missing]
		reported := "1 fragment of 1 packet could not be joined"
		if code != 0 || !strings.HasSuffix(out.String(), want) ||
			strings.Contains(errOut.String(), reported) != (missing >= 0) {
			t.Errorf("without fragment %d: exit %d, %s%s, want %q", missing, code, &out, &errOut, want)
		}
	}
}
