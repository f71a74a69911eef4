package collector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tamtam/collector/capture"
	"tamtam/tam/record"
)

// RecordOptions control the output of DecodeRecords.
type RecordOptions struct {
	Plans   []*record.Plan
	JSON    bool              // true for JSON output instead of text
	Packets bool              // true to print each recorded packet before the report
	Compare string            // path of the capture to compare with, or ""
	Flow    string            // only flows whose text contains this, see [Records.Only]
	Alone   bool              // see [Records.BitsAlone]
	Exact   bool              // true to keep every distinct latency, while memory allows
	Ports   int               // see [Records.Bound]
	Memory  int64             // see [Records.Bound]
	Names   map[string]string // see [Records.Name]
}

// ReadPlan reads a plan from a file of at most [record.MaxJSON] bytes, as `tamtam plan --format json` writes it. It
// does not check the plan; [NewRecords] does.
func ReadPlan(path string) (*record.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, record.MaxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(text) > record.MaxJSON {
		return nil, fmt.Errorf("%s: more than %d bytes, want a plan", path, record.MaxJSON)
	}
	p, err := record.ReadPlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.ID == 0 {
		return nil, fmt.Errorf("%s: no plan: it has no id; want what `tamtam plan --format json`, "+
			"DIR/record-SESSION.plan.json or `show tam table-record plan NAME | json` give", path)
	}
	return p, nil
}

// DecodeRecords reads the capture at path and prints its table records. A damaged capture is reported up to the damage,
// and the error contains its position. When ctx ends, reading stops and nothing is reported.
func DecodeRecords(ctx context.Context, out io.Writer, path string, opts RecordOptions) error {
	bw := bufio.NewWriter(out)
	var with *RecordReport
	c, err := NewRecords(opts.Plans...)
	if err != nil {
		return err
	}
	c.Only(opts.Flow)
	c.Name(opts.Names)
	c.Bound(opts.Ports, opts.Memory)
	if opts.Exact {
		c.Exact()
	}
	if opts.Alone {
		c.BitsAlone()
	}
	if opts.Compare != "" {
		r, err := ReadRecords(ctx, opts.Compare, opts.Plans...)
		if err != nil {
			return fmt.Errorf("%s: %w", opts.Compare, err)
		}
		with = r
		c.Know(r)
	}
	var each func(int64, *DecodedPacket) error
	if opts.Packets {
		each = RecordPrinter(bw, opts.JSON)
	}
	report, readErr := readRecords(ctx, c, path, each)
	if report == nil {
		return readErr
	}
	err = writeRecords(bw, report, with, opts.JSON)
	return errors.Join(readErr, err, bw.Flush())
}

// ReadRecords reads a whole capture for a comparison. For a damaged capture it returns only an error.
func ReadRecords(ctx context.Context, path string, plans ...*record.Plan) (*RecordReport, error) {
	c, err := NewRecords(plans...)
	if err != nil {
		return nil, err
	}
	r, err := readRecords(ctx, c, path, nil)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// readRecords reads a capture. It may return both a report of the readable part and an error.
func readRecords(
	ctx context.Context, c *Records, path string, each func(int64, *DecodedPacket) error,
) (*RecordReport, error) {
	in, err := capture.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var readErr error
	join := NewJoiner(CaptureWait)
	number := int64(0)
	add := func(list []Joined) error {
		for _, x := range list {
			if x.Incomplete {
				continue
			}
			if d, ok := c.Add(x.Frame, len(x.Frame)); ok && each != nil {
				if err := each(number, &d); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			readErr = err
			break
		}
		if number = p.Number; p.Cut() {
			c.Add(p.Data, p.Len)
			continue
		}
		if err := add(join.Add(p.Data, p.Time)); err != nil {
			return nil, err
		}
	}
	if err := add(join.Flush()); err != nil {
		return nil, err
	}
	r := c.Report()
	r.File = path
	r.joined(join.Counts())
	if readErr != nil {
		r.Error = readErr.Error()
	}
	return &r, readErr
}

// joined adds the fragments of packets. Each reassembled packet is counted as a frame already.
func (r *RecordReport) joined(c JoinCounts) {
	r.Frames += c.Fragments - c.Packets
	r.Fragments = c.Unjoined
}

func writeRecords(out io.Writer, r, with *RecordReport, asJSON bool) error {
	if !asJSON {
		err := r.WriteText(out)
		if err == nil && with != nil {
			d := r.Compare(with)
			err = d.WriteText(out)
		}
		return err
	}
	if with == nil {
		return r.WriteJSON(out)
	}
	d := r.Compare(with)
	return writeIndented(out, struct {
		*RecordReport
		Difference RecordDifference `json:"difference"`
	}{r, d})
}

// recordedJSON is one recorded packet.
type recordedJSON struct {
	Packet        int64  `json:"packet,omitempty"` // number in the file, from 1
	Time          string `json:"time"`             // time of the record
	Plan          uint32 `json:"plan"`
	Switch        uint32 `json:"switch"`
	Exporter      string `json:"exporter"`
	Encapsulation string `json:"encapsulation"`
	Flow          string `json:"flow,omitempty"`
	Length        uint32 `json:"length"`
	InPort        string `json:"in_port"`
	Fate          string `json:"fate"`
	Trap          string `json:"trap,omitempty"`
	Queue         *uint8 `json:"queue,omitempty"`
	LatencyNs     *int64 `json:"latency_ns,omitempty"`
	identitiesJSON
	Paths string   `json:"paths"`
	Path  []string `json:"path"`
	P     float64  `json:"p"`
	Why   string   `json:"why,omitempty"`
	New   bool     `json:"new,omitempty"`
	Bits  string   `json:"bits"`
}

// RecordPrinter returns a function that prints one packet with its number in a capture, or 0 if the packet is not from
// a capture.
func RecordPrinter(out io.Writer, asJSON bool) func(int64, *DecodedPacket) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return func(number int64, p *DecodedPacket) error {
		flow := ""
		if f, ok := p.Flow(); ok {
			flow = f.String()
		}
		latency, known := p.Latency()
		if asJSON {
			j := recordedJSON{
				Packet: number, Time: recordTime(p.At), Plan: p.Plan, Switch: p.Switch, Exporter: p.Exporter.String(),
				Encapsulation: p.Encapsulation, Flow: flow, Length: p.Length, InPort: portName(p.InPort, "none"), Fate: p.Fate(),
				Paths: p.Answer.Total, Path: []string{}, Why: p.Answer.Why, New: p.New, Bits: fmt.Sprintf("%x", p.Bits),
			}
			if j.Trap = p.trap; !p.Old && p.Queue != record.NoQueue {
				j.Queue = &p.Queue
			}
			j.identitiesJSON = identitiesJSON{p.identities(), p.NoRoom}
			if known {
				ns := int64(latency)
				j.LatencyNs = &ns
			}
			if len(p.Answer.Paths) > 0 {
				j.Path, j.P = p.Answer.Paths[0].Steps(), p.Answer.Paths[0].P
			}
			return encoder.Encode(j)
		}
		took := "-"
		if known {
			took = fmt.Sprintf("%d ns", int64(latency))
		}
		mark := ""
		if p.New {
			mark = "new: "
		}
		count := ""
		if number > 0 {
			count = fmt.Sprint(number, " ")
		}
		_, err := fmt.Fprintf(out, "%s%s switch %d, %s: %s > %s, %s; %s%s%s\n",
			count, recordTime(p.At), p.Switch, orWord(flow, "not IP"),
			portName(p.InPort, "none"), p.Fate(), took, mark, p.Path(), p.met())
		return err
	}
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

func recordTime(t record.Time) string { return fmt.Sprintf("%d.%09d", t.Seconds, t.Nanoseconds) }
