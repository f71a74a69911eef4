package collector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tamtam/collector/capture"
	"tamtam/saisim/tailstamp"
)

// DecodeOptions control the output of DecodeTailStamp.
type DecodeOptions struct {
	JSON    bool // true for JSON output instead of text
	Packets bool // true to print each stamped packet before the report
	Paths   int  // maximum number of flows and paths that are distinguished; zero means DefaultPaths
	Exact   bool // true to keep every distinct latency, while memory allows
	IFA     bool // true to decode hops of Inband Flow Analyzer instead of tail-stamp records
	// Memory is the maximum memory of all latency distributions together in bytes. Zero means DefaultMemory.
	Memory int64
	// Each, if set, is called for each stamped frame, and Reported after each report.
	Each     func(StampedFrame) error
	Reported func() error
}

// DecodeTailStamp reads the capture at path and prints its tail-stamp records. A damaged capture is reported up to the
// damage, and the error contains its position. When ctx ends, reading stops and nothing is reported.
func DecodeTailStamp(ctx context.Context, out io.Writer, path string, opts DecodeOptions) error {
	in, err := capture.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	bw := bufio.NewWriter(out)
	c := opts.new()
	packets := packetPrinter(bw, opts)
	next := in.Next
	if opts.IFA { // the hops' times need the capture's times
		next = in.NextTimed
	}
	var number int64
	var readErr error
	for ctx.Err() == nil {
		p, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			readErr = err
			break
		}
		number++
		records := c.Add(p.Data, p.Time, p.Len)
		if err := packets(number, p, records); err != nil {
			return fmt.Errorf("decode tailstamp: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	report := c.Report()
	report.File = path
	if readErr != nil {
		report.Error = readErr.Error()
	}
	if opts.JSON {
		err = report.WriteJSON(bw)
	} else {
		err = report.WriteText(bw)
	}
	return errors.Join(readErr, err, bw.Flush(), opts.reported())
}

func (o *DecodeOptions) reported() error {
	if o.Reported == nil {
		return nil
	}
	return o.Reported()
}

// packetJSON is one stamped packet. With Packets, one such line precedes the report for each packet.
type packetJSON struct {
	Packet  int64        `json:"packet"`        // number in the file, from 1
	Time    time.Time    `json:"time,omitzero"` // capture time
	Flow    string       `json:"flow"`
	Skipped int          `json:"skipped_bytes,omitempty"` // bytes after the datagram that belong to no record
	Records []recordJSON `json:"records"`
}

type recordJSON struct {
	SwitchID       uint32 `json:"switch_id"`
	InPort         string `json:"in_port"`
	OutPort        string `json:"out_port"`
	Ingress        string `json:"ingress"`          // seconds.nanoseconds since 1970
	Egress         string `json:"egress,omitempty"` // absent if not measured
	Unsynchronised bool   `json:"clock_not_synchronised,omitempty"`
	ClockSet       bool   `json:"clock_set,omitempty"`       // true if the clock was set between the two times
	Searched       bool   `json:"found_by_search,omitempty"` // true if the record was not at its expected place
	// Queue and QueueBytes belong to hops of IFA. Nil means unknown.
	Queue      *uint8  `json:"queue,omitempty"`
	QueueBytes *uint32 `json:"queue_bytes,omitempty"`
}

// packetPrinter returns a function that prints one packet and calls Each, as the options require.
func packetPrinter(out io.Writer, opts DecodeOptions) func(int64, capture.Packet, []tailstamp.Record) error {
	encoder := json.NewEncoder(out)
	return func(number int64, p capture.Packet, records []tailstamp.Record) error {
		if len(records) == 0 || !opts.Packets && opts.Each == nil {
			return nil
		}
		frame := p.Data
		if mirrored, ok := opts.unwrap(frame); ok {
			frame = mirrored
		}
		f := StampedFrame{Number: number, Time: p.Time, Records: records}
		opts.describe(&f, frame)
		if opts.Each != nil {
			if err := opts.Each(f); err != nil {
				return err
			}
		}
		if !opts.Packets {
			return nil
		}
		return f.print(out, encoder, opts.JSON)
	}
}

// print writes the frame as a line.
func (f *StampedFrame) print(out io.Writer, encoder *json.Encoder, asJSON bool) error {
	line := packetJSON{Packet: f.Number, Time: f.Time, Flow: f.Flow.String(), Skipped: f.Skipped}
	for i, r := range f.Records {
		j := recordJSON{SwitchID: r.SwitchID, InPort: portName(r.InPort, "none"), OutPort: portName(r.OutPort, "CPU"),
			Ingress: seconds(r.Ingress), Unsynchronised: r.Flags&tailstamp.Unsynchronised != 0, ClockSet: clockSet(r),
			Searched: r.Flags&tailstamp.Searched != 0}
		if e := egress(r); !e.IsZero() {
			j.Egress = seconds(e)
		}
		if i < len(f.hops) {
			j.Queue = &f.hops[i].Queue
			if n, ok := known(&f.hops[i]); ok {
				j.QueueBytes = &n
			}
		}
		line.Records = append(line.Records, j)
	}
	if asJSON {
		return encoder.Encode(line)
	}
	at := "-"
	if !f.Time.IsZero() {
		at = f.Time.Format("2006-01-02T15:04:05.000000000Z07:00")
	}
	_, err := fmt.Fprintf(out, "%d %s %s%s%s\n", f.Number, at, line.Flow, hopsText(line.Records),
		cond(f.Skipped > 0, " | skipped "+plural(int64(f.Skipped), "byte")))
	return err
}

func hopsText(records []recordJSON) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, " | switch %d %s %s -> %s %s", r.SwitchID, r.InPort, r.Ingress, r.OutPort, orDash(r.Egress))
		if r.Queue != nil {
			fmt.Fprintf(&b, " queue %d", *r.Queue)
		}
		if r.QueueBytes != nil {
			fmt.Fprintf(&b, " (%d bytes)", *r.QueueBytes)
		}
		if r.Unsynchronised {
			b.WriteString(" (clock not synchronised)")
		}
		if r.ClockSet {
			b.WriteString(" (clock set in between)")
		}
		if r.Searched {
			b.WriteString(" (found by search)")
		}
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func seconds(t tailstamp.Timestamp) string { return fmt.Sprintf("%d.%09d", t.Seconds, t.Nanoseconds) }

// WriteJSON writes r as one JSON object. It returns an error of out.
func (r Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// writeLine writes r as JSON in one line.
func (r Report) writeLine(out io.Writer) error { return json.NewEncoder(out).Encode(r) }

// WriteText writes r as tables, times in nanoseconds.
func (r Report) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s: %d stamped with %s, %d without a record",
		plural(r.Frames, "frame"), r.Stamped, plural(r.Records, "record"), r.Plain)
	if r.Cut > 0 {
		fmt.Fprintf(out, ", %d cut by the snap length%s%s", r.Cut,
			cond(r.Mirrored > 0, " or a mirror session"), cond(r.Reported > 0, " or a terminator"))
	}
	if r.Mirrored > 0 {
		fmt.Fprintf(out, ", %d in ERSPAN", r.Mirrored)
	}
	if r.Reported > 0 {
		fmt.Fprintf(out, ", %d in reports of IPFIX", r.Reported)
	}
	fmt.Fprintln(out)
	if r.SkippedIn > 0 {
		fmt.Fprintf(out, "%s with %s behind the datagram that belong to no record; %s found by search\n",
			plural(r.SkippedIn, "frame"), plural(r.Skipped, "byte"), plural(r.Searched, "record"))
	}
	if r.NoLength > 0 {
		fmt.Fprintf(out, "%s whose IP length is not valid: where records would be is not known\n",
			plural(r.NoLength, "frame"))
	}
	if r.Unread > 0 {
		fmt.Fprintf(out, "%s that cannot be read: fragments of ERSPAN copies%s. Whether they have records is not known\n",
			plural(r.Unread, "frame"), cond(r.ifa, " or of reports, or IFA of another layout"))
	}
	writeMissed(out, r.Missed)
	if r.Beyond > 0 {
		fmt.Fprintf(out, "%s of flows and paths beyond the first %d that had room, which alone are below (--paths)\n",
			plural(r.Beyond, "stamped frame"), r.kept)
	}
	if r.Unranked > 0 {
		fmt.Fprintf(out, "%s of which no percentiles are known, since %s were spent (--memory)\n",
			plural(r.Unranked, "row"), memoryText(r.Memory))
	}
	for _, f := range r.Flows {
		fmt.Fprintf(out, "\n%s: %s stamped\n", f.Flow, plural(f.Frames, "frame"))
		if f.Beyond > 0 {
			fmt.Fprintf(out, "  %s of other paths, which had no room (--paths)\n", plural(f.Beyond, "frame"))
		}
		for i, p := range f.Paths {
			if len(f.Paths) > 1 {
				fmt.Fprintf(out, "  path %d of %d: %s\n", i+1, len(f.Paths), plural(p.Frames, "frame"))
			}
			if err := p.writeText(out); err != nil {
				return err
			}
		}
	}
	if r.Error != "" {
		fmt.Fprintf(out, "\nincomplete: %s\n", r.Error)
	}
	return nil
}

func cond(so bool, text string) string {
	if so {
		return text
	}
	return ""
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p PathReport) writeText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "hop\tswitch\tin\tout\tcount\tmin ns\tavg\tp50\tp90\tp99\tmax\t")
	for i, h := range p.Hops {
		if h.Delay != nil {
			fmt.Fprintf(w, "\t\t\tlink\t%s\t\n", h.Delay.columns())
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t\n", i+1, h.SwitchID, h.InPort, h.OutPort, h.Latency.columns())
	}
	if len(p.Hops) > 1 {
		fmt.Fprintf(w, "\t\t\tall\t%s\t\n", p.EndToEnd.columns())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if p.sketched() {
		fmt.Fprintln(out, " ", sketchedNote)
	}
	if p.unranked() > 0 {
		fmt.Fprintln(out, " ", unrankedNote)
	}
	for i, h := range p.Hops {
		if text := h.queueText(p.Frames); text != "" {
			fmt.Fprintf(out, "  hop %d: %s\n", i+1, text)
		}
		for _, note := range []struct {
			n    int64
			what string
		}{
			{h.NoEgress, "without an egress time"}, {h.Unsynchronised, "with a clock that was not synchronised"},
			{h.ClockSet, "in the switch when its clock was set, whose times are left out"},
			{h.Unusable, "with times that cannot be compared"}, {h.Searched, "whose record was found by search"},
		} {
			if note.n > 0 {
				fmt.Fprintf(out, "  hop %d: %s %s\n", i+1, plural(note.n, "frame"), note.what)
			}
		}
	}
	return nil
}

// columns returns the figures of one table row, with "-" if nothing was measured.
func (s Summary) columns() string {
	if s.Count == 0 {
		return "0\t-\t-\t-\t-\t-\t-"
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s\t%d", s.Count, s.Min, s.Avg, s.percentile(s.P50), s.percentile(s.P90),
		s.percentile(s.P99), s.Max)
}

// percentile returns a percentile as text: with "~" if it is not exact, or "?" if it is unknown.
func (s Summary) percentile(ns int64) string {
	switch {
	case s.Unranked:
		return "?"
	case s.Within > 0:
		return fmt.Sprintf("~%d", ns)
	}
	return strconv.FormatInt(ns, 10)
}

// Notes that explain the marks of percentiles.
var sketchedNote = fmt.Sprintf("~ within %g %% and 1 ns: of more than %d different values (--exact), "+
	"or than had room (--memory)", 100*sketchWithin, exactValues)

const unrankedNote = "? not known: there was no room for the different values (--memory)"

func memoryText(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// summaries returns the summaries of all hops and links, and the end-to-end one if there are several hops.
func (p PathReport) summaries() (all []Summary) {
	if len(p.Hops) > 1 {
		all = append(all, p.EndToEnd)
	}
	for _, h := range p.Hops {
		if all = append(all, h.Latency); h.Delay != nil {
			all = append(all, *h.Delay)
		}
	}
	return all
}

// sketched reports whether some percentile is not exact.
func (p PathReport) sketched() bool {
	return slices.ContainsFunc(p.summaries(), func(s Summary) bool { return s.Within > 0 })
}

// unranked returns the number of summaries with unknown percentiles.
func (p PathReport) unranked() (n int64) {
	for _, s := range p.summaries() {
		if s.Unranked {
			n++
		}
	}
	return n
}

// writeMissed writes the number of frames that were lost before they could be read, if there are any.
func writeMissed(out io.Writer, frames uint64) {
	if frames > 0 {
		fmt.Fprintf(out, "%d more frames were lost before they could be read: of them nothing is known\n", frames)
	}
}
