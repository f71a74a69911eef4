package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/device"
	"tamtam/internal/netns/netnstest"
	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// Parameters of the live measurement.
const (
	liveInterval = altmark.Interval(-1) // half a second
	liveMaxDelay = 100 * time.Millisecond
	liveGap      = 2 * time.Millisecond // time between packets of a flow
	livePeriods  = 8                    // the number of periods that must be complete
	liveDeadline = 3 * time.Minute      // time limit for these periods
)

// Two switches in separate processes are connected by a relay that loses packets and counts the losses. A third process
// collects by gNMI. In every complete period the measured loss equals the relay's count. A period is skipped if a
// packet took longer than the session allows, or was lost elsewhere, as happens on a busy machine.
func TestLiveAltMark(t *testing.T) {
	if testing.Short() {
		t.Skip("TestLiveTraffic has the same processes for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 7}, liveAltMark)
}

func liveAltMark(t *testing.T, seed uint64) {
	if !netnstest.Own(t) {
		return
	}
	veths(t, [][2]string{{"host1", "left1"}, {"left2", "relay1"}, {"relay2", "right1"}, {"right2", "host2"}}...)
	w := &liveWire{t: t, seen: map[uint64]*livePeriod{}, sent: map[uint64]time.Time{}, periods: map[uint64]uint64{},
		rnd: rand.New(rand.NewPCG(seed, 7))}
	out, in := openHost(t, "relay2"), openHost(t, "relay1")
	a, b := openHost(t, "host1"), openHost(t, "host2")
	left := startMarker(t, "left", "initiator", "127.0.0.1:8081")
	right := startMarker(t, "right", "terminator", "127.0.0.1:8082")
	for _, s := range []*marker{left, right} {
		s.wait(t, schema.StateTAMAltMark, "web", active)
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { w.send(a, stop) })
	all.Go(func() { w.relay(in, out, stop) })
	all.Go(func() { w.receive(b, stop) })
	defer all.Wait()
	defer close(stop)

	exported := listenIPFIX(t)
	results, ca := startCollect(t, left, right, "--ipfix", exported.LocalAddr().String())
	var printed []liveResult
	deadline := time.After(liveDeadline)
	checked := map[uint64]bool{}
	for len(checked) < livePeriods {
		select {
		case <-deadline:
			t.Fatalf("%d periods were complete and could be checked, want %d", len(checked), livePeriods)
		case r, ok := <-results:
			if !ok {
				t.Fatal("tamtam collect has ended")
			}
			t.Log(r.text)
			printed = append(printed, r)
			if w.check(r) {
				checked[r.Period] = true
			}
		}
	}
	sameByIPFIX(t, exported, printed)
	alarmByTopology(t, left, right)
	// The collector serves its results to the shell.
	cmd := exec.Command(os.Args[0], "cli", "--target", "127.0.0.1:8083", "--tls-ca", ca, "-c",
		"show tam alt-mark results way")
	cmd.Env = append(os.Environ(), asTamtam+"=1")
	text, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(text, []byte("left")) || !bytes.Contains(text, []byte("right")) {
		t.Errorf("%v: %s", err, text)
	}
}

// A marker is a switch in a separate process, with a session for the packets that arrive at its first port.
type marker struct {
	*fleet
	name, gnmi, ca string
}

func startMarker(t *testing.T, name, role, gnmi string) *marker {
	config := twoPorts("untagged")
	maps.Copy(config, device.ConfigDB{
		schema.CfgTAMFeature:   {"ALTMARK": swss.FieldValues{"status": "ACTIVE"}},
		schema.CfgTAMFlowGroup: {"web": swss.FieldValues{"id": "1"}},
		schema.CfgACLRule: {"TAM|web": swss.FieldValues{"PRIORITY": "100", "IP_PROTOCOL": "253",
			"IN_PORTS": "Ethernet0"}},
		schema.CfgTAMAltMark: {"web": swss.FieldValues{"flowgroup": "web", "role": role, "method": "double", "interval": "-1",
			"mark": "dscp0", "mark2": "dscp1", "delay-max": fmt.Sprint(liveMaxDelay.Nanoseconds())}},
	})
	data := filepath.Join(t.TempDir(), "data")
	f := startUp(t, config, "--profile", "rmt12", "--port", "Ethernet0="+name+"1", "--port", "Ethernet4="+name+"2",
		"--gnmi", gnmi, "--data", data)
	return &marker{f, name, gnmi, filepath.Join(data, "ca.pem")}
}

// A liveResult is a line of the collector's output.
type liveResult struct {
	Period         uint64
	Status         string
	Reasons        []string
	Sent, Received uint64
	Lost           *int64
	Delay          *int64 `json:"delay_ns"`

	text string // the line of output
}

// startCollect runs `tamtam collect`, with additional flags, on the path from left to right. ca belongs to its gNMI
// server.
func startCollect(t *testing.T, left, right *marker, more ...string) (results <-chan liveResult, ca string) {
	t.Helper()
	dir := t.TempDir()
	var cas []byte
	for _, s := range []*marker{left, right} {
		b, err := os.ReadFile(s.ca)
		if err != nil {
			t.Fatal(err)
		}
		cas = append(cas, b...)
	}
	paths := fmt.Sprintf(
		"paths: [{name: way, points: [{switch: left, target: %q, session: web}, {switch: right, target: %q, session: web}]}]",
		left.gnmi, right.gnmi)
	for name, text := range map[string]string{"ca.pem": string(cas), "paths.yaml": paths} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"collect", "--paths", filepath.Join(dir, "paths.yaml"), "--tls-ca", filepath.Join(dir, "ca.pem"),
		"--format", "json",
		"--gnmi", "127.0.0.1:8083", "--gnmi-data", filepath.Join(dir, "data")}
	cmd := exec.Command(os.Args[0], append(args, more...)...)
	return readResults(t, cmd), filepath.Join(dir, "data", "ca.pem")
}

// alarmByTopology runs `tamtam collect` without a file of paths. The graph follows from a topology and the sessions
// that the switches report. An alarm names the link that loses packets.
func alarmByTopology(t *testing.T, left, right *marker) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.yaml")
	text := fmt.Sprintf("switches: [{name: left, target: %q}, {name: right, target: %q}]\n"+
		"links: [{a: \"left:Ethernet4\", b: \"right:Ethernet0\"}]\n", left.gnmi, right.gnmi)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), liveDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "collect", "--topology", file, "--alarm", "0.001", "--skip-verify")
	cmd.Env = append(os.Environ(), asTamtam+"=1")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for s := bufio.NewScanner(stderr); s.Scan(); {
		said = append(said, s.Text())
		if strings.Contains(s.Text(), "alarm: web period") && strings.HasSuffix(s.Text(), ", link left>right") {
			cancel()
			_ = cmd.Wait()
			return
		}
	}
	_ = cmd.Wait()
	t.Errorf("no alarm names the link that loses packets:\n%s", strings.Join(said, "\n"))
}

// readResults starts `tamtam collect`, and reads its results.
func readResults(t *testing.T, cmd *exec.Cmd) <-chan liveResult {
	t.Helper()
	cmd.Env = append(os.Environ(), asTamtam+"=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan liveResult, 10000)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("collect:\n%s", log.String())
		}
	})
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(io.Reader(stdout)); s.Scan(); {
			var r liveResult
			if err := json.Unmarshal(s.Bytes(), &r); err != nil {
				t.Errorf("%s: %v", s.Bytes(), err)
				return
			}
			r.text = s.Text()
			lines <- r
		}
	}()
	return lines
}

// A liveWire is everything outside of the switches, with a record of every packet.
type liveWire struct {
	t   *testing.T
	rnd *rand.Rand // used only by the relay

	mu      sync.Mutex
	seen    map[uint64]*livePeriod // packets at the relay, by period
	sent    map[uint64]time.Time   // time at which each packet left its host, by number
	periods map[uint64]uint64      // period of each forwarded packet, by packet number
}

// A livePeriod holds the packets that came to the relay with the mark of a period.
type livePeriod struct {
	seen, dropped uint64
	arrived       uint64 // number of forwarded packets that arrived at the other host
	first, last   uint64 // lowest and highest number of the packets
	gaps          bool   // true if packets were lost before the relay
	late          bool   // true if a packet took longer than the session allows
}

// send sends numbered packets, one every liveGap.
func (w *liveWire) send(h *host, stop <-chan struct{}) {
	tick := time.NewTicker(liveGap)
	defer tick.Stop()
	for seq := uint64(1); ; seq++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		b := frame("\x02\x00\x00\x00\xaa\x02\x02\x00\x00\x00\xaa\x01\x08\x00" +
			"\x45\x00\x00\x32\x00\x00\x00\x00\x40\xfd\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02")
		binary.BigEndian.PutUint16(b[24:], checksum(b[14:34]))
		binary.BigEndian.PutUint64(b[34:], seq)
		w.mu.Lock()
		w.sent[seq] = time.Now()
		w.mu.Unlock()
		if _, err := unix.Write(h.fd, b); err != nil {
			w.t.Errorf("host1: %v", err)
			return
		}
	}
}

func checksum(header []byte) uint16 {
	var sum uint32
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// next reads a packet of the test. It returns false once stop is closed.
func next(h *host, buf []byte, stop <-chan struct{}) ([]byte, bool) {
	for {
		select {
		case <-stop:
			return nil, false
		default:
		}
		n, err := unix.Read(h.fd, buf)
		if err == nil && n >= 42 && bytes.Equal(buf[6:12], []byte{2, 0, 0, 0, 0xaa, 1}) && buf[23] == 253 {
			return buf[:n], true
		}
	}
}

// relay forwards packets, except for some that it drops and counts. Packets do not overtake each other, and none
// arrives before it was marked. So the period of a packet is the latest one with its mark.
func (w *liveWire) relay(in, out *host, stop <-chan struct{}) {
	const early = 20 * time.Millisecond // the maximum by which the switch's clock is ahead of ours
	setTimeout(w.t, in)
	buf := make([]byte, 2048)
	var before uint64
	for {
		b, ok := next(in, buf, stop)
		if !ok {
			return
		}
		seq, mark := binary.BigEndian.Uint64(b[34:]), uint64(b[15]>>2&1)
		k := liveInterval.Period(altmark.At(time.Now().Add(early)))
		if k&1 != mark {
			k--
		}
		drop := w.rnd.IntN(10) == 0
		w.mu.Lock()
		p := w.seen[k]
		if p == nil {
			p = &livePeriod{first: seq}
			w.seen[k] = p
		}
		p.seen++
		p.last = seq
		p.gaps = p.gaps || seq != before+1
		if drop {
			p.dropped++
		} else {
			w.periods[seq] = k
		}
		before = seq
		w.mu.Unlock()
		if drop {
			continue
		}
		if _, err := unix.Write(out.fd, b); err != nil {
			w.t.Errorf("relay: %v", err)
			return
		}
	}
}

// receive records the arriving packets with their times.
func (w *liveWire) receive(h *host, stop <-chan struct{}) {
	setTimeout(w.t, h)
	buf := make([]byte, 2048)
	for {
		b, ok := next(h, buf, stop)
		if !ok {
			return
		}
		seq := binary.BigEndian.Uint64(b[34:])
		w.mu.Lock()
		if k, ok := w.periods[seq]; ok {
			p := w.seen[k]
			p.arrived++
			p.late = p.late || time.Since(w.sent[seq]) > liveMaxDelay
			delete(w.sent, seq)
			delete(w.periods, seq)
		}
		w.mu.Unlock()
	}
}

// check compares a complete result with the relay's counts, if these counts are certain. Reports arrive at least a
// quarter of a second after the last packet of their period.
func (w *liveWire) check(r liveResult) bool {
	if r.Status != "ok" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := r.Period - 2; k <= r.Period+1; k++ { // a packet that is late for one period counts in another
		p := w.seen[k]
		if p == nil || p.gaps || p.late || k <= r.Period && p.arrived != p.seen-p.dropped {
			w.t.Logf("period %d cannot be checked: %d is %+v", r.Period, k, p)
			return false
		}
	}
	p := w.seen[r.Period]
	if r.Lost == nil || r.Sent != p.seen || r.Received != p.seen-p.dropped || *r.Lost != int64(p.dropped) {
		w.t.Errorf("period %d: %+v, but the relay saw %d packets and dropped %d", r.Period, r, p.seen, p.dropped)
	}
	return true
}

// setTimeout makes a reader check now and then whether it must stop.
func setTimeout(t *testing.T, h *host) {
	if err := unix.SetsockoptTimeval(h.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		t.Error(err)
	}
}
