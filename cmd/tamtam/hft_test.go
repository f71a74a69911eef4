package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/internal/command"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/hft"
	"tamtam/tam/ipfix"
)

// hftStream returns a stream of a port's octets, and passes its messages to send.
func hftStream(t *testing.T, c hft.Config, send func([]byte)) *hft.Stream {
	t.Helper()
	c.Size = ipfix.MaxSize
	s, err := hft.NewStream(c, func(m hft.Message) { send(m.Bytes) })
	if err != nil {
		t.Fatal(err)
	}
	hftColumns(t, s, "Ethernet0")
	return s
}

// hftColumns replaces the columns of a stream by the octets of one port.
func hftColumns(t *testing.T, s *hft.Stream, port string) {
	t.Helper()
	label := map[string]uint16{"Ethernet0": 1, "Ethernet4": 2}[port]
	if err := s.Configure([]hft.Column{{Statistic: hft.Statistic{Label: label, Type: 1}, Object: port,
		Name: "SAI_PORT_STAT_IF_IN_OCTETS"}}); err != nil {
		t.Fatal(err)
	}
}

func hftSample(t *testing.T, s *hft.Stream, at int64) {
	t.Helper()
	if err := s.Sample(time.Unix(100, 0), at, []uint64{uint64(at)}); err != nil {
		t.Fatal(err)
	}
	s.Flush()
}

// session returns the row of a stream's session.
func session(s *hft.Stream) swss.FieldValues {
	row := schema.HFTSession{Enabled: true, Templates: s.Templates()}
	for _, c := range s.Columns() {
		row.Objects, row.Labels = append(row.Objects, c.Object), append(row.Labels, c.Label)
	}
	return row.Fields()
}

// Errors on the command line are reported by name.
func TestHFTRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("\x00\x0a\x00\x0f............"), 0o600); err != nil {
		t.Fatal(err)
	}
	try(t, "collect hft",
		line{"--format xml", command.ExitUsage, `--format "xml"`},
		line{"--enterprise-id 0", command.ExitUsage, "--enterprise-id 0: want 1 to 65535, such as 32473"},
		line{"--enterprise-id 65536", command.ExitUsage, "--enterprise-id 65536: want 1 to 65535"},
		line{"--interval -1s", command.ExitUsage, "--interval -1s: want 0 or more"},
		line{"--unix s --listen :1", command.ExitUsage, "--unix s: want none of --read, --interface and --listen"},
		line{"--otlp nowhere", command.ExitUsage, `--otlp "nowhere": no way to send: want grpc://`},
		line{"--unix /nowhere/s", command.ExitFailed, "--unix /nowhere/s: "},
		line{"--read " + file, command.ExitFailed, "byte 2: length: 15, want 16 and more"})
	try(t, "run mgmtd",
		line{"--hft netlink", command.ExitUsage, `--hft "netlink": want unix:PATH or udp:HOST:PORT, as a --hft of syncd`},
		line{"--hft nowhere", command.ExitUsage, `--hft "nowhere": want unix:PATH`})
	try(t, "subscribe", line{"--sample -1s /system", command.ExitUsage, "--sample -1s: want 0 or more"})
}

// In SONiC's format templates and names come from the sessions in the switch's Redis. They are read again when a stream
// changes, and no record is lost.
func TestHFTSessions(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	table := swss.NewTable(r.DB(swss.StateDB), schema.StateHFTSession)
	var conn net.Conn
	s := hftStream(t, hft.Config{}, func(b []byte) {
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
		}
	})
	if err := table.Set(t.Context(), "p|PORT", session(s)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	_, end := listening(t, "collect", "hft", "--unix", path, "--redis", server.Addr, "--count", "20", "--format", "csv")
	var err error
	if conn, err = net.Dial("unixgram", path); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	want := "time_ns,exporter,domain,template,type,object,label,statistic,kind,value\n"
	for i := range int64(20) {
		if i == 10 {
			hftColumns(t, s, "Ethernet4")
			if err := table.Set(t.Context(), "p|PORT", session(s)); err != nil {
				t.Fatal(err)
			}
		}
		hftSample(t, s, i)
		want += fmt.Sprintf([]string{"%d,local,0,256,PORT,Ethernet0,1,IF_IN_OCTETS,counter,%[1]d\n",
			"%d,local,0,257,PORT,Ethernet4,2,IF_IN_OCTETS,counter,%[1]d\n"}[i/10], i)
	}
	if code, out := end(); code != 0 || out != want {
		t.Errorf("exit %d\n%s\nwant\n%s", code, out, want)
	}
}

// A file with messages, and datagrams by UDP, are printed alike. The values also reach a collector of OpenTelemetry.
func TestHFTFile(t *testing.T) {
	var sent []byte
	otel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, b...)
	}))
	defer otel.Close()
	to, end := listening(t, "collect", "hft", "--listen", "127.0.0.1:0", "--count", "3")
	conn, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var file []byte
	s := hftStream(t, hft.Config{Format: hft.Conforming, Refresh: time.Minute, RefreshMessages: 100, Domain: 3,
		Interval: time.Millisecond}, func(b []byte) {
		file = append(file, b...)
		if _, err := conn.Write(b); err != nil {
			t.Error(err)
		}
	})
	for _, at := range []int64{1e6, 2e6, 4e6} {
		hftSample(t, s, at)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/hft.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := string(golden)
	code, out := tamtam(t, "collect", "hft", "--read", path, "--otlp", otel.URL)
	if code != 0 || !strings.HasPrefix(out, want+"tamtam: "+otel.URL+": ") || !strings.HasSuffix(out, " messages sent\n") {
		t.Errorf("exit %d\n%s\nwant\n%s", code, out, want)
	}
	for _, part := range []string{"hft.port_if_in_octets", "SAI_PORT_STAT_IF_IN_OCTETS", "Ethernet0", "local"} {
		if n := bytes.Count(sent, []byte(part)); n < 3 {
			t.Errorf("%d times %s in what the collector got of 3 records", n, part)
		}
	}
	if code, out := end(); code != 0 || strings.ReplaceAll(out, conn.LocalAddr().String(), "local") != want {
		t.Errorf("by UDP: exit %d\n%s\nwant\n%s", code, out, want)
	}
}
