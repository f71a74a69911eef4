package chaos

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/device/devicetest"
	wire "tamtam/tam/sflow"
)

// sflowVariable enables TestSFlowCollectors, which starts external programs, and waits for them.
const sflowVariable = "TAMTAM_SFLOW"

// sflowFields lists the fields that collectors may read from samples, in the order of the table. Each value is text.
var sflowFields = []string{
	"flow samples", "agent address", "sampling rate", "input interface", "output interface", "source address",
	"destination address", "protocol", "source port", "destination port", "VLAN", "frame length", "counter samples",
	"octets received", "discard samples", "reason",
}

// sflowReadings holds the values of each field, one for each sample that has the field.
type sflowReadings map[string][]string

func (r sflowReadings) add(field string, v any, times int) {
	for range times {
		r[field] = append(r[field], fmt.Sprint(v))
	}
}

// sflowWanted returns the sent values. Flow samples of dropped packets have no output.
func sflowWanted(samples []wire.Sample) sflowReadings {
	r := sflowReadings{}
	for _, s := range samples {
		switch s := s.(type) {
		case *wire.FlowSample:
			r.add("flow samples", 1, 1)
			r.add("agent address", "10.0.0.9", 1)
			r.add("sampling rate", s.Rate, 1)
			r.add("input interface", s.Input.Value, 1)
			if s.Output.Format == wire.Single {
				r.add("output interface", s.Output.Value, 1)
				r.add("VLAN", 10, 1)
			}
			r.add("source address", "10.1.0.1", 1)
			r.add("destination address", "10.1.0.2", 1)
			r.add("protocol", 17, 1)
			r.add("source port", 1000, 1)
			r.add("destination port", 80, 1)
			r.add("frame length", s.Header.Length, 1)
		case *wire.CounterSample:
			r.add("counter samples", 1, 1)
			r.add("octets received", s.Generic.InOctets, 1)
		case *wire.Discarded:
			r.add("discard samples", 1, 1)
			r.add("reason", s.Reason, 1)
		}
	}
	return r
}

// TestSFlowCollectors checks that external collectors read sflowd's datagrams. For each field that a collector
// supports, every value must be right, and the number of values must match.
func TestSFlowCollectors(t *testing.T) {
	if os.Getenv(sflowVariable) == "" {
		t.Skip(sflowVariable + " is not set: make sflow-test")
	}
	x := devicetest.NewSFlowTest(t)
	x.Send(3000, 30)
	x.Pass(11 * time.Second)
	want := sflowWanted(x.Got[netip.MustParseAddrPort("192.0.2.1:6343")])
	c := &collecting{T: t, dir: t.TempDir(), ports: map[string]string{}}
	path := capturedSFlow(x, c.dir)
	who := []string{"tamtam"}
	got := map[string]sflowReadings{"tamtam": sflowByTamtam(t, path)}
	run := func(name string, read func(*devicetest.SFlowTest, *collecting, string) sflowReadings, arg string,
		tools ...string) {
		for _, tool := range tools {
			if _, err := exec.LookPath(tool); err != nil {
				t.Logf("%s is not installed, and left out", name)
				return
			}
		}
		who, got[name] = append(who, name), read(x, c, arg)
	}
	run("tshark", sflowByTshark, path, "tshark")
	run("nfdump", sflowByNfdump, "", "sfcapd", "nfdump")
	run("pmacct", sflowByPmacct, "", "sfacctd")
	if goflow2 := os.Getenv("TAMTAM_GOFLOW2"); goflow2 != "" {
		run("goflow2", sflowByGoflow2, goflow2)
	}
	t.Logf("| | sent | %s |", strings.Join(who, " | "))
	t.Logf("| --- | ---%s |", strings.Repeat(" | ---", len(who)))
	for _, field := range sflowFields {
		row := fmt.Sprintf("| %s | %d ", field, len(want[field]))
		for _, name := range who {
			row += "| " + verdictOf(t, name, field, got[name][field], want[field]) + " "
		}
		t.Log(row + "|")
	}
}

// verdictOf returns how a collector has read a field: "=" if it has all values, and "wrong" if not. "-" means that it
// has no values, because it does not support the field.
func verdictOf(t *testing.T, who, field string, got, want []string) string {
	t.Helper()
	if len(got) == 0 {
		return "-"
	}
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s reads %s as %v, want %v", who, field, got, want)
		return "wrong"
	}
	return "="
}

// capturedSFlow writes the datagrams to a capture.
func capturedSFlow(x *devicetest.SFlowTest, dir string) string {
	path := filepath.Join(dir, "sflow.pcap")
	w, err := capture.Create(path)
	if err != nil {
		x.Fatal(err)
	}
	for _, b := range x.Raw {
		f := make([]byte, 42, 42+len(b)) // space for Ethernet, IPv4 and UDP headers
		f[12], f[14], f[22], f[23] = 8, 0x45, 64, 17
		binary.BigEndian.PutUint16(f[16:], uint16(28+len(b)))
		copy(f[26:], []byte{10, 0, 0, 9, 192, 0, 2, 1})
		binary.BigEndian.PutUint16(f[36:], wire.Port)
		binary.BigEndian.PutUint16(f[38:], uint16(8+len(b)))
		f = append(f, b...)
		devicetest.NoError(x.T, w.Write(time.Unix(1700000000, 0), f, len(f)))
	}
	devicetest.NoError(x.T, w.Close())
	return path
}

// give sends the datagrams to a collector, each once.
func give(x *devicetest.SFlowTest, addr string) {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		x.Fatal(err)
	}
	defer conn.Close()
	for _, b := range x.Raw {
		if _, err := conn.Write(b); err != nil {
			x.Fatal(err)
		}
	}
}

// objects returns the JSON objects in a text, one after the other.
func objects(t *testing.T, text string) (all []map[string]any) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var m map[string]any
		d.UseNumber()
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all // a partial line is read the next time
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		all = append(all, m)
	}
}

func sflowByTamtam(t *testing.T, path string) sflowReadings {
	in, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	p := collector.NewSFlow(&out, true)
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		u, _ := collector.ParseUDP(f.Data)
		devicetest.NoError(t, p.Datagram(u.From, u.Payload))
	}
	r := sflowReadings{}
	flow := regexp.MustCompile(`^UDP (\S+):(\d+) > (\S+):(\d+)$`)
	for _, m := range objects(t, out.String()) {
		switch m["sample"] {
		case "flow":
			r.add("flow samples", 1, 1)
			r.add("agent address", strings.TrimSuffix(m["agent"].(string), "/0"), 1)
			r.add("sampling rate", m["rate"], 1)
			r.add("input interface", m["input"], 1)
			if _, err := strconv.Atoi(m["output"].(string)); err == nil {
				r.add("output interface", m["output"], 1)
				r.add("VLAN", m["in_vlan"], 1)
			}
			f := flow.FindStringSubmatch(m["flow"].(string))
			r.add("protocol", 17, 1)
			for i, field := range []string{"source address", "source port", "destination address", "destination port"} {
				r.add(field, f[i+1], 1)
			}
			r.add("frame length", m["length"], 1)
		case "counters":
			r.add("counter samples", 1, 1)
			r.add("octets received", m["counters"].(map[string]any)["InOctets"], 1)
		case "discard":
			r.add("discard samples", 1, 1)
			r.add("reason", m["reason"], 1)
		}
	}
	return r
}

// sflowByTshark reads the fields of tshark 4.0. It reads the number of drop notifications, and continues after them.
func sflowByTshark(x *devicetest.SFlowTest, _ *collecting, path string) sflowReadings {
	names := []string{"sflow_245.sampletype", "sflow_245.ifinoct", "sflow_245.agent", "sflow_245.header.frame_length"}
	args := []string{"-r", path, "-T", "fields", "-E", "separator=;"}
	for _, n := range names {
		args = append(args, "-e", n)
	}
	cmd := exec.Command("tshark", args...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		x.Fatal(err, complaint.String())
	}
	r := sflowReadings{}
	for line := range strings.Lines(string(out)) {
		columns := strings.Split(strings.TrimSpace(line), ";")
		flows, long := 0, strings.Split(columns[3], ",")
		for _, kind := range strings.Split(columns[0], ",") {
			switch kind {
			case "1":
				r.add("flow samples", 1, 1)
				r.add("agent address", columns[2], 1)
				r.add("frame length", long[flows], 1)
				flows++
			case "2":
				r.add("counter samples", 1, 1)
			case "5":
				r.add("discard samples", 1, 1)
			}
		}
		if columns[1] != "" {
			for _, n := range strings.Split(columns[1], ",") {
				r.add("octets received", n, 1)
			}
		}
	}
	return r
}

// flow adds a flow of a collector, with its field names mapped to ours.
func (r sflowReadings) flow(m map[string]any, times int, names map[string]string) {
	r.add("flow samples", 1, times)
	for theirs, ours := range names {
		v := strings.ToLower(fmt.Sprint(m[theirs]))
		if ours == "protocol" && v == "udp" {
			v = "17"
		}
		if out, err := strconv.ParseUint(v, 10, 64); ours == "output interface" && (err != nil || out == 0 || out >= 256) ||
			ours == "VLAN" && v == "0" {
			continue // the packet was dropped: nfcapd stores the reason's number there
		}
		r.add(ours, v, times)
	}
}

// sflowByNfdump reads nfcapd's flows. It multiplies packets and octets by the sampling rate.
func sflowByNfdump(x *devicetest.SFlowTest, c *collecting, _ string) sflowReadings {
	dir := filepath.Join(c.dir, "flows")
	devicetest.NoError(x.T, os.Mkdir(dir, 0o755))
	pid := filepath.Join(c.dir, "sfcapd.pid")
	c.start("sfcapd", "-w", dir, "-b", "127.0.0.1", "-p", c.port("sfcapd"), "-t", "3600", "-P", pid)
	c.logged("sfcapd", "Startup sfcapd")
	give(x, c.addr("sfcapd"))
	c.drained("sfcapd")
	text, err := os.ReadFile(pid)
	if err != nil {
		x.Fatal(err)
	}
	id, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	devicetest.NoError(x.T, syscall.Kill(id, syscall.SIGTERM))
	c.logged("sfcapd", "Sequence Errors: 0, Bad Packets: 0")
	c.logged("sfcapd", "Terminating sfcapd")
	files, err := filepath.Glob(filepath.Join(dir, "nfcapd.2*"))
	if err != nil || len(files) != 1 {
		x.Fatal(files, err)
	}
	out, err := exec.Command("nfdump", "-r", files[0], "-o", "json").Output()
	if err != nil {
		x.Fatal(err)
	}
	var flows []map[string]any
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	devicetest.NoError(x.T, d.Decode(&flows))
	r := sflowReadings{}
	for _, m := range flows {
		r.flow(m, 1, map[string]string{"in_packets": "sampling rate", "input_snmp": "input interface",
			"output_snmp": "output interface", "src4_addr": "source address", "dst4_addr": "destination address",
			"proto": "protocol", "src_port": "source port", "dst_port": "destination port", "src_vlan": "VLAN"})
		packets, octets := countOf(fmt.Sprint(m["in_packets"])), countOf(fmt.Sprint(m["in_bytes"]))
		r.add("frame length", octets/packets, 1)
	}
	return r
}

// sflowByPmacct reads sfacctd's flows. It adds up equal flows.
func sflowByPmacct(x *devicetest.SFlowTest, c *collecting, _ string) sflowReadings {
	out := filepath.Join(c.dir, "sfacctd.out")
	conf := c.file("sfacctd.conf", "sfacctd_ip: 127.0.0.1\nsfacctd_port: "+c.port("sfacctd")+`
plugins: print
aggregate: peer_src_ip,src_host,dst_host,proto,src_port,dst_port,in_iface,out_iface,sampling_rate,vlan
print_output: json
print_output_file: `+out+`
print_output_file_append: true
print_refresh_time: 1
`)
	c.start("sfacctd", "-f", conf)
	c.logged("sfacctd", "Purging cache - END")
	give(x, c.addr("sfacctd"))
	return await(x, c, out, "packets", func(r sflowReadings, m map[string]any) {
		n := int(countOf(fmt.Sprint(m["packets"])))
		r.flow(m, n, map[string]string{"peer_ip_src": "agent address", "sampling_rate": "sampling rate",
			"iface_in": "input interface", "iface_out": "output interface", "ip_src": "source address",
			"ip_dst": "destination address", "ip_proto": "protocol", "port_src": "source port", "port_dst": "destination port",
			"vlan": "VLAN"})
		r.add("frame length", int(countOf(fmt.Sprint(m["bytes"])))/n, n)
	})
}

func sflowByGoflow2(x *devicetest.SFlowTest, c *collecting, path string) sflowReadings {
	out := c.file("goflow2.out", "")
	c.start(path, "-listen", "sflow://"+c.addr("goflow2")+"/?count=1&workers=1", "-addr", "127.0.0.1:0",
		"-transport.file", out, "-format", "json")
	c.logged("goflow2", "starting collection")
	give(x, c.addr("goflow2"))
	return await(x, c, out, "", func(r sflowReadings, m map[string]any) {
		r.flow(m, 1, map[string]string{"sampler_address": "agent address", "sampling_rate": "sampling rate",
			"in_if": "input interface", "out_if": "output interface", "src_addr": "source address",
			"dst_addr": "destination address", "proto": "protocol", "src_port": "source port", "dst_port": "destination port",
			"src_vlan": "VLAN", "bytes": "frame length"})
	})
}

// await reads a collector's file until it has as many samples as were sent. counted is the field with an object's
// number of samples.
func await(
	x *devicetest.SFlowTest, c *collecting, path, counted string, read func(sflowReadings, map[string]any),
) (r sflowReadings) {
	want := len(sflowWanted(x.Got[netip.MustParseAddrPort("192.0.2.1:6343")])["flow samples"])
	c.until("all flow samples in "+path, func() error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r = sflowReadings{}
		for _, m := range objects(x.T, string(text)) {
			if counted == "" || m[counted] != nil {
				read(r, m)
			}
		}
		if n := len(r["flow samples"]); n < want {
			return fmt.Errorf("%d of %d", n, want)
		}
		return nil
	})
	return r
}

// logged waits until the log of a collector contains a text.
func (c *collecting) logged(name, text string) {
	c.until(name+": "+text, func() error {
		log, err := os.ReadFile(filepath.Join(c.dir, name+".log"))
		if err == nil && !bytes.Contains(log, []byte(text)) {
			err = errors.New(string(log))
		}
		return err
	})
}

// drained waits until the socket of a collector has no unread data.
func (c *collecting) drained(name string) {
	n, _ := strconv.Atoi(c.port(name))
	socket := regexp.MustCompile(fmt.Sprintf(`0100007F:%04X \S+ \S+ \w+:(\w+)`, n))
	c.until("the socket of "+name+" is empty", func() error {
		text, err := os.ReadFile("/proc/net/udp")
		if m := socket.FindSubmatch(text); err == nil && (m == nil || string(m[1]) != "00000000") {
			err = fmt.Errorf("%q", m)
		}
		return err
	})
}
