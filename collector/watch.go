package collector

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tamtam/collector/capture"
)

// A Source provides frames as they arrive.
type Source interface {
	// Next waits for the next frame until ctx ends.
	Next(ctx context.Context) (capture.Packet, error)
	// Lost returns the number of frames lost since the last call, before they could be read.
	Lost() (uint64, error)
}

// WatchTailStamp prints the tail-stamp records in the frames of a source as they arrive. At each tick it reports the
// frames since the last report. It also reports at the end, when ctx or the source ends. JSON output has one report per
// line. name is the name of the source in reports.
func WatchTailStamp(
	ctx context.Context, out io.Writer, name string, in Source, ticks <-chan time.Time, opts DecodeOptions,
) error {
	bw := bufio.NewWriter(out)
	packets := packetPrinter(bw, opts)
	c := opts.new()
	add := func(p capture.Packet) error { return packets(p.Number, p, c.Add(p.Data, p.Time, p.Len)) }
	report := func() error {
		r := c.Report()
		r.File = name
		c = opts.new()
		lost, err := in.Lost()
		if r.Missed = lost; err != nil {
			r.Error = missedUnknown
		}
		if opts.JSON {
			return errors.Join(r.writeLine(bw), bw.Flush(), opts.reported())
		}
		return errors.Join(r.WriteText(bw), bw.Flush(), opts.reported())
	}
	return watch(ctx, "collect tailstamp", in, ticks, add, report, report)
}

// missedUnknown is the error of a report whose source cannot report its losses.
const missedUnknown = "it is not known how many frames were lost before they were read"

// watch passes each packet of a source to add until add returns io.EOF, or ctx or the source ends. It calls report at
// each tick, and after io.EOF. It calls last when ctx or the source has ended. Errors begin with command.
func watch(
	ctx context.Context, command string, in Source, ticks <-chan time.Time,
	add func(capture.Packet) error, report, last func() error,
) error {
	type arrival struct {
		capture.Packet
		err error
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	taken, end := context.WithCancel(context.WithoutCancel(ctx)) // ends when no more packets are processed
	defer end()
	arrivals := make(chan arrival, 256)
	go func() {
		for {
			p, err := in.Next(reading)
			select {
			case arrivals <- arrival{p, err}:
			case <-taken.Done():
				err = taken.Err()
			}
			if err != nil {
				close(arrivals)
				return
			}
		}
	}()
	for {
		select {
		case a, ok := <-arrivals:
			if !ok || a.err != nil {
				if ctx.Err() != nil { // ended by ctx
					a.err = nil
				}
				return errors.Join(last(), a.err)
			}
			switch err := add(a.Packet); {
			case errors.Is(err, io.EOF):
				return report()
			case err != nil:
				return fmt.Errorf("%s: %w", command, err)
			}
		case <-ticks:
			if err := report(); err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
		}
	}
}

// WatchRecordOptions control the output of WatchRecords.
type WatchRecordOptions struct {
	JSON    bool  // JSON instead of text
	Packets bool  // print each recorded packet, not only those whose path is new or impossible
	Count   int64 // end after this many records; zero means when ctx or the source ends
}

// WatchRecords prints the table records in the frames or datagrams of a source as they arrive: a line for each packet
// whose path is new or impossible. It also prints a report of all packets added to c at each tick and at the end. name
// is the name of the source in reports.
func WatchRecords(
	ctx context.Context, out io.Writer, name string, in Source, ticks <-chan time.Time,
	c *Records, opts WatchRecordOptions,
) error {
	bw := bufio.NewWriter(out)
	printed := RecordPrinter(bw, opts.JSON)
	got, join := int64(0), NewJoiner(LiveWait)
	decoded := func(d DecodedPacket, ok bool) error {
		if !ok {
			return nil
		}
		if opts.Packets || d.New || d.Answer.Impossible {
			if err := errors.Join(printed(0, &d), bw.Flush()); err != nil {
				return err
			}
		}
		if got++; got == opts.Count {
			return io.EOF
		}
		return nil
	}
	joined := func(list []Joined) error {
		for _, x := range list {
			if x.Incomplete { // counted as fragments
				continue
			}
			if err := decoded(c.Add(x.Frame, len(x.Frame))); err != nil {
				return err
			}
		}
		return nil
	}
	add := func(p capture.Packet) error {
		switch {
		case p.From.IsValid():
			return decoded(c.AddPayload(p.Data, p.From.Addr()))
		case p.Cut():
			return decoded(c.Add(p.Data, p.Len))
		}
		return joined(join.Add(p.Data, p.Time))
	}
	missed, unknown := uint64(0), ""
	report := func() error {
		lost, err := in.Lost()
		if missed += lost; err != nil {
			unknown = missedUnknown // permanent, because a report covers all packets
		}
		r := c.Report()
		r.File, r.Missed, r.Error = name, missed, unknown
		r.joined(join.Counts())
		if opts.JSON {
			return errors.Join(r.WriteJSON(bw), bw.Flush())
		}
		return errors.Join(r.WriteText(bw), bw.Flush())
	}
	last := func() error {
		if err := joined(join.Flush()); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return report()
	}
	return watch(ctx, "collect record", in, ticks, add, report, last)
}
