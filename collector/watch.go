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
	type arrival struct {
		capture.Packet
		err error
	}
	arrivals := make(chan arrival, 256)
	go func() {
		for {
			p, err := in.Next(ctx)
			arrivals <- arrival{p, err}
			if err != nil {
				return
			}
		}
	}()
	bw := bufio.NewWriter(out)
	packets := packetPrinter(bw, opts)
	c := NewTailStamp(opts.Paths, opts.Memory, opts.Exact)
	report := func() error {
		r := c.Report()
		r.File = name
		c = NewTailStamp(opts.Paths, opts.Memory, opts.Exact)
		lost, err := in.Lost()
		if r.Missed = lost; err != nil {
			r.Error = "it is not known how many frames were lost before they were read"
		}
		if opts.JSON {
			return errors.Join(r.writeLine(bw), bw.Flush())
		}
		return errors.Join(r.WriteText(bw), bw.Flush())
	}
	for {
		select {
		case a := <-arrivals:
			if a.err != nil {
				if ctx.Err() != nil { // asked to end
					a.err = nil
				}
				return errors.Join(report(), a.err)
			}
			if err := packets(a.Number, a.Packet, c.Add(a.Data, a.Time, a.Len)); err != nil {
				return fmt.Errorf("collect tailstamp: %w", err)
			}
		case <-ticks:
			if err := report(); err != nil {
				return fmt.Errorf("collect tailstamp: %w", err)
			}
		}
	}
}
