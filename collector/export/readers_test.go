package export

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/tam/ipfix"
)

// goflow2Variable is the variable with the path of goflow2's program.
const goflow2Variable = "TAMTAM_GOFLOW2"

// A program is a running collector.
type program struct {
	*lineup
	name string
	port string
	log  string
	cmd  *exec.Cmd
	read func() []reading
	gaps func() string
	// addressed means that the collector omits records without addresses.
	addressed bool
}

func (p *program) address() string { return "127.0.0.1:" + p.port }

// has reports whether a program is installed.
func (l *lineup) has(name string) bool {
	_, err := exec.LookPath(name)
	if err != nil {
		l.Logf("%s is not installed, and left out", name)
	}
	return err == nil
}

// launch starts a collector, and waits until its log contains ready.
func (l *lineup) launch(name, ready string, command func(p *program) []string) *program {
	conn := listen(l)
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	conn.Close()
	p := &program{lineup: l, name: name, port: port, log: filepath.Join(l.dir, name+".log")}
	log, err := os.Create(p.log)
	if err != nil {
		l.Fatal(err)
	}
	defer log.Close()
	args := command(p)
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, l.dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(p.kill)
	l.collectors = append(l.collectors, p)
	l.until(name+" is ready", func() error {
		if text := l.text(p.log); !strings.Contains(text, ready) {
			return errors.New(text)
		}
		return nil
	})
	return p
}

// until waits until good returns no error.
func (l *lineup) until(what string, good func() error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := good()
		if err == nil {
			return
		}
		if n > 200 {
			l.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

func (l *lineup) text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.Fatal(err)
	}
	return string(b)
}

func (l *lineup) file(name, text string) string {
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.Fatal(err)
	}
	return path
}

// stop waits until a collector has this number of records, ends it and returns them.
func (p *program) stop(want int) []reading {
	var got []reading
	if p.name == "nfdump" {
		p.drained()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
		return p.read()
	}
	// Records that are still missing after a while are named by judge.
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for got = p.read(); len(got) < want && ctx.Err() == nil; got = p.read() {
		<-tick.C
	}
	p.kill()
	return got
}

// kill ends a collector and its children.
func (p *program) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// drained waits until the collector's socket has no pending datagram.
func (p *program) drained() {
	n, _ := strconv.Atoi(p.port)
	socket := regexp.MustCompile(fmt.Sprintf(`0100007F:%04X \S+ \S+ \w+:(\w+)`, n))
	p.until("the socket of "+p.name+" is empty", func() error {
		m := socket.FindStringSubmatch(p.text("/proc/net/udp"))
		if m == nil || m[1] != "00000000" {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
}

// start starts the available collectors.
func (l *lineup) start() {
	if l.has("nfcapd") && l.has("nfdump") {
		l.startNfdump()
	}
	if l.has("nfacctd") {
		l.startPmacct()
	}
	if path := os.Getenv(goflow2Variable); path != "" {
		l.startGoflow2(path)
	} else {
		l.Logf("%s is not set, and goflow2 left out", goflow2Variable)
	}
}

// lines returns the JSON objects of a text.
func (l *lineup) lines(text string) (all []map[string]any) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var m map[string]any
		d.UseNumber()
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all // an incomplete line is read at the next call
		}
		if err != nil {
			l.Fatalf("%v in %s", err, text)
		}
		all = append(all, m)
	}
}

// renamed converts a record from a collector's field names to elements. It omits the collector's placeholders for
// absent values.
func renamed(m map[string]any, names map[string]string, none ...string) reading {
	r := reading{}
	for theirs, element := range names {
		v, ok := m[theirs]
		if !ok {
			continue
		}
		text := fmt.Sprint(v)
		empty := text == ""
		for _, n := range none {
			empty = empty || text == n
		}
		if !empty {
			r[element] = text
		}
	}
	return r
}

func (l *lineup) startNfdump() {
	dir := filepath.Join(l.dir, "flows")
	if err := os.Mkdir(dir, 0o755); err != nil {
		l.Fatal(err)
	}
	p := l.launch("nfdump", "Startup nfcapd", func(p *program) []string {
		return []string{"nfcapd", "-w", dir, "-b", "127.0.0.1", "-p", p.port, "-t", "3600"}
	})
	names := map[string]string{"first": "flowStartMilliseconds", "last": "flowEndMilliseconds",
		"in_packets": "packetDeltaCount",
		"proto":      "protocolIdentifier", "src_port": "sourceTransportPort", "dst_port": "destinationTransportPort",
		"src4_addr": "sourceIPv4Address", "dst4_addr": "destinationIPv4Address", "src6_addr": "sourceIPv6Address",
		"dst6_addr": "destinationIPv6Address", "input_snmp": "ingressInterface", "output_snmp": "egressInterface",
		"fwd_status": "forwardingStatus"}
	p.read = func() (all []reading) {
		files, _ := filepath.Glob(filepath.Join(dir, "nfcapd.[0-9]*"))
		for _, f := range files {
			cmd := exec.Command("nfdump", "-r", f, "-o", "json")
			cmd.Env = append(os.Environ(), "TZ=UTC")
			out, err := cmd.Output()
			if err != nil {
				l.Fatal(err)
			}
			var flows []map[string]any
			d := json.NewDecoder(bytes.NewReader(out))
			d.UseNumber()
			if err := d.Decode(&flows); err != nil {
				l.Fatal(err)
			}
			for _, m := range flows {
				r := renamed(m, names, "0", "1970-01-01T00:00:00.000")
				for _, name := range []string{"flowStartMilliseconds", "flowEndMilliseconds"} {
					if at, err := time.Parse("2006-01-02T15:04:05.000", r[name]); err == nil {
						r[name] = number(at.UnixMilli())
					}
				}
				all = append(all, r)
			}
		}
		return all
	}
	p.gaps = func() string {
		m := regexp.MustCompile(`Sequence Errors: (\d+)`).FindStringSubmatch(l.text(p.log))
		if m == nil || m[1] != "0" {
			l.Errorf("nfcapd: %v\n%s", m, l.text(p.log))
			return "?"
		}
		return m[1]
	}
}

// owned returns tamtam's elements in the kinds.
func owned() (all []ipfix.Element) {
	for _, e := range ipfix.Own() {
		if e.Type != ipfix.Boolean {
			all = append(all, e)
		}
	}
	return append(all, *ipfix.OwnElement("tamtamRevised"))
}

func (l *lineup) startPmacct() {
	names := map[string]string{"timestamp_start": "flowStartMilliseconds", "timestamp_end": "flowEndMilliseconds",
		"start_ntp": "flowStartNanoseconds", "end_ntp": "flowEndNanoseconds", "observed_ntp": "observationTimeNanoseconds",
		"count": "packetDeltaCount", "ip_proto": "protocolIdentifier", "port_src": "sourceTransportPort",
		"port_dst": "destinationTransportPort", "ip_src": "source", "ip_dst": "destination", "iface_in": "ingressInterface",
		"iface_out": "egressInterface",
		"status":    "forwardingStatus", "collected_ms": "collectionTimeMilliseconds",
		"layer2_octets": "layer2OctetDeltaCount",
		"dropped":       "droppedPacketDeltaCount", "frame_size": "dataLinkFrameSize"}
	primitives := "name=status field_type=89 len=1 semantics=u_int\nname=start_ntp field_type=156 len=8 " +
		"semantics=u_int\n" +
		"name=end_ntp field_type=157 len=8 semantics=u_int\nname=observed_ntp field_type=325 len=8 semantics=u_int\n" +
		"name=count field_type=2 len=8 semantics=u_int\n" +
		"name=collected_ms field_type=258 len=8 semantics=u_int\nname=layer2_octets field_type=352 len=8 semantics=u_int\n" +
		"name=dropped field_type=133 len=8 semantics=u_int\nname=frame_size field_type=312 len=2 semantics=u_int\n"
	aggregate := "src_host,dst_host,proto,src_port,dst_port,in_iface,out_iface,timestamp_start,timestamp_end," +
		"status,start_ntp,end_ntp,observed_ntp,count,collected_ms,layer2_octets,dropped,frame_size"
	widths := map[ipfix.Type]string{ipfix.Unsigned8: "1", ipfix.Boolean: "1", ipfix.Unsigned16: "2", ipfix.Unsigned32: "4",
		ipfix.Unsigned64: "8", ipfix.Signed64: "8"}
	signed := map[string]bool{}
	for _, e := range owned() {
		width, semantics := widths[e.Type], "u_int"
		if e.Type == ipfix.String {
			width, semantics = "vlen", "str"
		}
		signed[e.Name] = e.Type == ipfix.Signed64
		primitives += fmt.Sprintf("name=%s field_type=%d:%d len=%s semantics=%s\n", e.Name, ipfix.DefaultEnterprise, e.ID,
			width,
			semantics)
		aggregate += "," + e.Name
		names[strings.ToLower(e.Name)], names[e.Name] = e.Name, e.Name
	}
	out := filepath.Join(l.dir, "nfacctd.out")
	p := l.launch("pmacct", "Purging cache - END", func(p *program) []string {
		return []string{"nfacctd", "-f", l.file("nfacctd.conf", "nfacctd_ip: 127.0.0.1\nnfacctd_port: "+p.port+
			"\nplugins: print\naggregate: "+aggregate+"\naggregate_primitives: "+l.file("primitives.lst", primitives)+
			"\nprint_output: json\nprint_output_file: "+out+"\nprint_output_file_append: true\nprint_refresh_time: 1\n"+
			"timestamps_utc: true\ntimestamps_since_epoch: true\n")}
	})
	p.addressed = true
	p.read = func() (all []reading) {
		for _, m := range l.lines(l.text(out)) {
			all = append(all, l.fromPmacct(renamed(m, names, "0", "0.000000"), signed))
		}
		return all
	}
}

func (l *lineup) fromPmacct(r reading, signed map[string]bool) reading {
	for name, v := range r {
		switch {
		case strings.HasSuffix(name, "Milliseconds") && strings.HasSuffix(v, "000"): // or the time is in (micro)seconds
			r[name] = strings.Replace(strings.TrimSuffix(v, "000"), ".", "", 1)
		case strings.HasSuffix(name, "Nanoseconds"): // a 64-bit NTP timestamp as a number
			at, _ := ipfix.FromNTP(l.parsed(v))
			r[name] = number(at.UnixNano())
		}
	}
	byNumber(r)
	for name := range signed { // pmacct treats all integers as unsigned
		if v, err := strconv.ParseUint(r[name], 10, 64); err == nil && signed[name] {
			r[name] = number(int64(v))
		}
	}
	byFamily(r)
	return r
}

// byNumber replaces the name of a protocol by its number.
func byNumber(r reading) {
	if n, ok := map[string]string{"tcp": "6", "udp": "17"}[strings.ToLower(r["protocolIdentifier"])]; ok {
		r["protocolIdentifier"] = n
	}
}

// byFamily names addresses by their family.
func byFamily(r reading) {
	for _, end := range []string{"source", "destination"} {
		switch a := r[end]; {
		case strings.Contains(a, ":"):
			r[end+"IPv6Address"] = a
		case a != "":
			r[end+"IPv4Address"] = a
		}
		delete(r, end)
	}
}

func (l *lineup) startGoflow2(path string) {
	names := map[string]string{"packets": "packetDeltaCount", "proto": "protocolIdentifier",
		"src_port": "sourceTransportPort", "dst_port": "destinationTransportPort", "src_addr": "source",
		"dst_addr": "destination",
		"in_if":    "ingressInterface", "out_if": "egressInterface", "time_flow_start_ns": "flowStartNanoseconds",
		"time_flow_end_ns": "flowEndNanoseconds", "forwarding_status": "forwardingStatus"}
	fields, mapping, own := "", "", "    - type\n"
	for name := range names {
		own += "    - " + name + "\n"
	}
	types := map[string]ipfix.Type{}
	index := 2000
	add := func(name, spec string, kind ipfix.Type) {
		index++
		wire := "varint"
		if kind == ipfix.String || kind == ipfix.OctetArray {
			wire = "string"
		}
		types[name] = kind
		names[name] = name
		own += "    - " + name + "\n"
		fields += fmt.Sprintf("    - {name: %s, index: %d, type: %s}\n", name, index, wire)
		mapping += fmt.Sprintf("    - {%s, destination: %s}\n", spec, name)
	}
	for _, e := range owned() {
		add(e.Name, fmt.Sprintf("field: %d, penprovided: true, pen: %d", e.ID, ipfix.DefaultEnterprise), e.Type)
	}
	for _, name := range []string{"flowStartMilliseconds", "flowEndMilliseconds", "collectionTimeMilliseconds",
		"layer2OctetDeltaCount", "droppedPacketDeltaCount", "dataLinkFrameSize", "ipHeaderPacketSection",
		"ipPayloadPacketSection"} {
		e := ipfix.Standard(name)
		add(name, fmt.Sprintf("field: %d", e.ID), e.Type)
	}
	out := filepath.Join(l.dir, "goflow2.out")
	config := l.file("goflow2.yaml", "formatter:\n  fields:\n"+own+"  protobuf:\n"+fields+"ipfix:\n  mapping:\n"+mapping)
	p := l.launch("goflow2", "starting collection", func(p *program) []string {
		return []string{path, "-listen", "netflow://127.0.0.1:" + p.port + "/?count=1&workers=1", "-addr", "127.0.0.1:0",
			"-transport.file", out, "-mapping", config, "-format", "json"}
	})
	p.read = func() (all []reading) {
		for _, m := range l.lines(l.text(out)) {
			all = append(all, l.fromGoflow2(renamed(m, names, "0", "HOPOPT"), types))
		}
		return all
	}
}

// fromGoflow2 converts goflow2's unsigned numbers and octets by the types of elements. goflow2 has milliseconds in
// place of missing nanoseconds, the time of export in place of a missing end, and dropped packets in place of packets.
func (l *lineup) fromGoflow2(r reading, types map[string]ipfix.Type) reading {
	byFamily(r)
	byNumber(r)
	for name, kind := range types {
		v, ok := r[name]
		switch {
		case !ok:
		case kind == ipfix.String:
			b, err := hex.DecodeString(v)
			if err != nil {
				l.Fatal(err)
			}
			r[name] = string(b)
		case kind == ipfix.Signed64:
			r[name] = number(int64(l.parsed(v)))
		case kind == ipfix.Boolean:
			r[name] = map[string]string{"1": "true", "2": "false"}[v]
		}
	}
	if r["flowStartMilliseconds"] == "" && r["droppedPacketDeltaCount"] == r["packetDeltaCount"] {
		delete(r, "packetDeltaCount")
	}
	for _, name := range []string{"flowStartNanoseconds", "flowEndNanoseconds"} {
		if strings.HasSuffix(r[name], "000000") {
			delete(r, name)
		}
	}
	return r
}

// readTamtam returns the records that `tamtam collect ipfix --read` reads.
func (l *lineup) readTamtam(path string) (all []reading) {
	in, err := capture.Open(path)
	if err != nil {
		l.Fatal(err)
	}
	defer in.Close()
	var out strings.Builder
	printer := NewPrinter(&out, true, 0)
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.Fatal(err)
		}
		u, ok := collector.ParseUDP(f.Data)
		if !ok {
			l.Fatalf("%x", f.Data)
		}
		if err := printer.Datagram(u.From, u.Payload); err != nil {
			l.Fatal(err)
		}
	}
	if err := printer.Report(); err != nil {
		l.Fatal(err)
	}
	for _, m := range l.lines(out.String()) {
		if lost, ok := m["records_lost"]; ok && lost.(json.Number) != "0" || m["error"] != nil {
			l.Errorf("tamtam: %v", m)
		}
		fields, ok := m["fields"].(map[string]any)
		if !ok || m["options"] != nil {
			continue
		}
		r := reading{}
		for name, v := range fields {
			if r[name] = fmt.Sprint(v); strings.HasSuffix(name, "seconds") {
				at, err := time.Parse(time.RFC3339Nano, r[name])
				if err != nil {
					l.Fatal(err)
				}
				if r[name] = number(at.UnixNano()); strings.HasSuffix(name, "Milliseconds") {
					r[name] = number(at.UnixMilli())
				}
			}
		}
		all = append(all, r)
	}
	return all
}
