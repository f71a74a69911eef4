package collector

import (
	"context"
	"errors"
	"io"
	"net/netip"

	"tamtam/collector/capture"
)

// A DatagramPrinter prints the content of datagrams. Its errors are those of the output.
type DatagramPrinter interface {
	Datagram(from netip.AddrPort, payload []byte) error
	Records() int64 // number of printed records
	Report() error
}

// Datagrams passes the datagrams of a capture, an interface or a socket to a printer.
type Datagrams struct {
	DatagramPrinter
	Port  uint16 // UDP port of datagrams in frames
	Count int64  // number of records to print; 0 means all until the source or the context ends
	// Progress reports data that was not read.
	Progress func(format string, args ...any)

	whole, cut int
	join       *Joiner
}

// More reports whether further records must be printed.
func (d *Datagrams) More(ctx context.Context) bool {
	return ctx.Err() == nil && (d.Count == 0 || d.Records() < d.Count)
}

// packet prints the datagrams that this packet completes, if they are for the requested port.
func (d *Datagrams) packet(p capture.Packet) error {
	if p.From.IsValid() {
		return d.Datagram(p.From, p.Data)
	}
	if p.Cut() {
		d.cut++
	}
	return d.joined(d.join.Add(p.Data, p.Time))
}

// joined prints the datagrams of frames. If fragments are missing, it prints the beginning of the datagram.
func (d *Datagrams) joined(list []Joined) error {
	for _, x := range list {
		u, ok := ParseUDP(x.Frame)
		if !ok || u.To.Port() != d.Port || d.Count > 0 && d.Records() >= d.Count {
			continue
		}
		if !x.Incomplete {
			d.whole++
		}
		if err := d.Datagram(u.From, u.Payload); err != nil {
			return err
		}
	}
	return nil
}

// end prints the datagrams that waited for fragments, reports frames that were not read, and prints the report.
func (d *Datagrams) end(from string) error {
	err := d.joined(d.join.Flush())
	if d.whole == 0 {
		d.Progress("%s has no datagram to UDP port %d that is whole (--port)", from, d.Port)
	}
	if d.cut > 0 {
		d.Progress("%d frames are cut by the snap length, and were not read", d.cut)
	}
	if text := d.join.Counts().Text(); text != "" {
		d.Progress("%s: %s", from, text)
	}
	return errors.Join(err, d.Report())
}

// Read prints the datagrams of a capture.
func (d *Datagrams) Read(ctx context.Context, path string) error {
	in, err := capture.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	d.join = NewJoiner(CaptureWait)
	for d.More(ctx) {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(d.end(path), err)
		}
		if err := d.packet(p); err != nil {
			return err
		}
	}
	return d.end(path)
}

// Watch prints the datagrams in the frames of a source, until ctx ends. name is the name of the source in messages.
func (d *Datagrams) Watch(ctx context.Context, name string, in Source) error {
	d.join = NewJoiner(LiveWait)
	if err := d.receive(ctx, in); err != nil {
		return errors.Join(d.end(name), err)
	}
	err := d.end(name)
	d.reportLost(in, "frames")
	return err
}

// Receive prints the datagrams that arrive at a socket, until ctx ends.
func (d *Datagrams) Receive(ctx context.Context, in Source) error {
	err := errors.Join(d.receive(ctx, in), d.Report())
	d.reportLost(in, "datagrams")
	return err
}

// receive prints arriving datagrams until Count records are printed or ctx ends.
func (d *Datagrams) receive(ctx context.Context, in Source) error {
	for d.More(ctx) {
		p, err := in.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = d.packet(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reportLost reports the amount of data that was lost because it arrived faster than it was read.
func (d *Datagrams) reportLost(in Source, what string) {
	if lost, unknown := in.Lost(); unknown != nil {
		d.Progress("it is not known how many %s were lost before they were read: %v", what, unknown)
	} else if lost > 0 {
		d.Progress("%d %s were lost before they could be read", lost, what)
	}
}
