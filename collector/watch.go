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

// A Source gives frames as they come.
type Source interface {
	// Next waits for the next frame until ctx ends.
	Next(ctx context.Context) (capture.Packet, error)
	// Lost is how many frames were lost before they could be read since it was asked last.
	Lost() (uint64, error)
}

// WatchTailStamp prints what the tail-stamp records in the frames of a source say, as they come: a report of what
// came since the last one at each tick, and one at the end, when ctx ends or the source does. JSON has a report in
// each line. name stands for the source.
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
	return watch(ctx, "collect tailstamp", in, ticks, add, report)
}

// missedUnknown is the error of a report whose source does not say what it lost.
const missedUnknown = "it is not known how many frames were lost before they were read"

// watch hands each packet of a source to add until add returns io.EOF, ctx ends or the source does, and calls report
// at each tick and at the end. command begins its own errors.
func watch(
	ctx context.Context, command string, in Source, ticks <-chan time.Time,
	add func(capture.Packet) error, report func() error,
) error {
	type arrival struct {
		capture.Packet
		err error
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	taken, end := context.WithCancel(context.WithoutCancel(ctx)) // it ends when nothing is taken any more
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
				if ctx.Err() != nil { // asked to end
					a.err = nil
				}
				return errors.Join(report(), a.err)
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

// WatchRecordOptions choose what WatchRecords prints.
type WatchRecordOptions struct {
	JSON    bool  // JSON instead of text
	Packets bool  // each recorded packet, not only those whose path is new or impossible
	Count   int64 // end after so many records; 0: when ctx or the source does
}

// WatchRecords prints what the records of table recording in the frames or datagrams of a source say, as they come: a
// line for each packet whose path is new, or impossible, and a report of all that c was given at each tick and at the end.
// name stands for the source.
func WatchRecords(
	ctx context.Context, out io.Writer, name string, in Source, ticks <-chan time.Time,
	c *Records, opts WatchRecordOptions,
) error {
	bw := bufio.NewWriter(out)
	printed := RecordPrinter(bw, opts.JSON)
	got := int64(0)
	add := func(p capture.Packet) error {
		var d DecodedPacket
		var ok bool
		if p.From.IsValid() {
			d, ok = c.AddPayload(p.Data, p.From.Addr())
		} else {
			d, ok = c.Add(p.Data, p.Len)
		}
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
	missed, unknown := uint64(0), ""
	report := func() error {
		lost, err := in.Lost()
		if missed += lost; err != nil {
			unknown = missedUnknown // for good: a report is of all that came
		}
		r := c.Report()
		r.File, r.Missed, r.Error = name, missed, unknown
		if opts.JSON {
			return errors.Join(r.WriteJSON(bw), bw.Flush())
		}
		return errors.Join(r.WriteText(bw), bw.Flush())
	}
	return watch(ctx, "collect record", in, ticks, add, report)
}
