package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"tamtam/collector"
	"tamtam/collector/capture"
	"tamtam/lab"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/tam/ifa"
)

// passing is a frame in one switch, according to the chip's moments.
type passing struct {
	flow, in, out, came, left string
	queue                     uint8
	waiting                   uint32 // bytes in the queue before it
}

// A witness records the fate of frames in a switch, by the name that their sender gave them, which no packet carries.
type witness struct {
	tap    *lab.Tap
	frames map[uint64]*passing
	queues map[string]uint32
}

func (w *witness) time(at saisim.Cycle) string {
	t := w.tap.Sim().Chip.Timestamp(at)
	return fmt.Sprintf("%d.%09d", t.Seconds, t.Nanoseconds)
}

func (w *witness) Saw(m saisim.Moment) {
	if m.What == saisim.MomentReceived {
		f, _ := collector.ParseFlow(m.Data)
		w.frames[m.ID] = &passing{flow: f.String(), in: w.tap.Port(m.Port), came: w.time(m.At)}
	}
	queue, size := fmt.Sprint(m.Port, m.Queue), uint32(m.Len)
	p := w.frames[m.ID]
	switch {
	case p == nil:
	case m.What == saisim.MomentQueued:
		if p.out == "" {
			p.queue, p.waiting = m.Queue, w.queues[queue]
		}
		w.queues[queue] += size
	case m.What == saisim.MomentDequeued:
		w.queues[queue] -= size
	case m.What == saisim.MomentSent && p.out == "":
		p.out, p.left = w.tap.Port(m.Port), w.time(m.At)
	}
}

func (w *witness) Restarted() {}

// counted checks the value of a field of a row of COUNTERS_DB.
func (w *witness) counted(t *testing.T, key, field string, want uint64) {
	t.Helper()
	sim := w.tap.Sim()
	if err := sim.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := sim.Redis.DB(swss.CountersDB).Client().HGet(t.Context(), key, field).Result()
	if err != nil || got != fmt.Sprint(want) {
		t.Errorf("%s: %s of %s is %s %v, want %d", w.tap.Name(), field, key, got, err, want)
	}
}

// The collector's reports of each packet match its true path through each switch: ports, times and queues, to the
// nanosecond and the byte. Lost packets are not reported.
func TestIFAReportsTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	top, err := Open("ifa-path", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := lab.New(t.Context(), top, lab.Options{Out: dir, Workers: 1, Seed: top.Seed})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var path []*witness
	for _, name := range []string{"first", "second", "third", "last"} {
		w := &witness{l.Tap(name), map[uint64]*passing{}, map[string]uint32{}}
		w.tap.Watch(w)
		path = append(path, w)
	}
	if err := l.Run(t.Context(), top.RunTime()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var wantPackets, wantQueues []string
	waited, marked := 0, uint64(0)
	for id := range path[3].frames {
		if slices.ContainsFunc(path, func(w *witness) bool { return w.frames[id] == nil }) {
			continue // not all switches of the path saw this frame
		}
		packet, queues := path[0].frames[id].flow, ""
		for i, w := range path {
			p := w.frames[id]
			packet += fmt.Sprintf(", %d %s %s %s %s", 11+i, p.in, p.out, p.came, p.left)
			queues += fmt.Sprintf("%s %d %d, ", p.came, p.queue, p.waiting)
			if p.waiting > 0 {
				waited++
			}
			if p.queue == 5 {
				marked++
			}
		}
		wantPackets, wantQueues = append(wantPackets, packet), append(wantQueues, queues)
	}
	sent, all := r.Flows["two"].Sent+r.Flows["three"].Sent+r.Flows["voice"].Sent, uint64(len(wantPackets))
	path[0].counted(t, "TAM_IFA_COUNTERS:begin", "INSERTED", sent)
	path[1].counted(t, "TAM_IFA_TRANSIT_COUNTERS:device", "INSERTED", sent)
	path[2].counted(t, "TAM_IFA_TRANSIT_COUNTERS:device", "INSERTED", all)
	path[3].counted(t, "TAM_IFA_COUNTERS:end", "STRIPPED", all)
	path[3].counted(t, "TAM_IFA_COUNTERS:end", "REPORTED", all)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "collector.received.pcap")
	same(t, "packets", packetsIn(t, file), wantPackets)
	same(t, "queues", queuesIn(t, file), wantQueues)
	two, voice := r.Flows["two"].Received, r.Flows["voice"].Received
	if len(wantPackets) != int(two+voice) || waited == 0 || marked != 4*voice {
		t.Errorf("%d packets, which waited %d times and were in queue 5 %d times; the server has %d and %d", len(wantPackets),
			waited,
			marked, two, voice)
	}
}

// same checks that two lists have the same lines, in any order.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s:\ngot  %s\nwant %s", what, got[i], want[i])
			}
		}
	}
}

// packetsIn returns the output of `tamtam decode ifa --packets` for a capture.
func packetsIn(t *testing.T, file string) (list []string) {
	t.Helper()
	var out bytes.Buffer
	opts := collector.DecodeOptions{IFA: true, JSON: true, Packets: true}
	if err := collector.DecodeTailStamp(t.Context(), &out, file, opts); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(&out); d.More(); {
		var line struct {
			Flow    string
			Records []struct {
				Switch         int    `json:"switch_id"`
				In             string `json:"in_port"`
				Out            string `json:"out_port"`
				Ingress        string
				Egress         string
				Unsynchronised bool `json:"clock_not_synchronised"`
			}
		}
		if err := d.Decode(&line); err != nil {
			break // the report follows the lines of the packets
		}
		packet := line.Flow
		for _, r := range line.Records {
			packet += fmt.Sprintf(", %d %s %s %s %s", r.Switch, r.In, r.Out, r.Ingress, r.Egress)
			if r.Unsynchronised {
				packet += "?"
			}
		}
		list = append(list, packet)
	}
	return list
}

// queuesIn returns the queue reports of the hops in a capture. Each packet is described by its arrival times at the
// switches.
func queuesIn(t *testing.T, file string) (list []string) {
	t.Helper()
	in, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		frame, ok := collector.Reported(f.Data)
		if !ok {
			continue // not a report, but a template
		}
		p, err := ifa.Decode(frame[14:])
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(p.Hops)
		queues := ""
		for _, h := range p.Hops {
			at, _ := h.Received(f.Time)
			queues += fmt.Sprintf("%d.%09d %d %d, ", at.Unix(), at.Nanosecond(), h.Queue, h.QueueBytes)
		}
		list = append(list, queues)
	}
}
