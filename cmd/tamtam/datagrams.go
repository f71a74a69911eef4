package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/capture"
)

// A datagramPrinter prints what datagrams have. Its errors are those of the output.
type datagramPrinter interface {
	Datagram(from netip.AddrPort, payload []byte) error
	Records() int64 // that were printed
	Report() error
}

// A datagramsIn holds the flags of a command that prints datagrams as they come: by UDP, from an interface,
// or out of a capture.
type datagramsIn struct {
	listen, read, iface, format string
	port                        uint16
	count                       int64
}

// command completes a command: what are the datagrams, and what is printed of them.
func (c *datagramsIn) command(
	cmd *cobra.Command, what, record string, printer func(io.Writer, bool) (datagramPrinter, error),
) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.run(cmd, printer) }
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", fmt.Sprintf(":%d", c.port), "UDP address to listen at")
	f.StringVar(&c.iface, "interface", "", "read frames that pass this interface of the host instead; needs CAP_NET_RAW")
	f.StringVar(&c.read, "read", "", "read this `FILE`, pcap or pcapng, instead")
	f.Uint16Var(&c.port, "port", c.port, "with --read and --interface: the UDP port that "+what+" were sent to")
	f.StringVar(&c.format, "format", "text", "text, or json with a "+record+" in each line")
	f.Int64Var(&c.count, "count", 0, "end after so many "+record+"s; 0: when interrupted")
	return cmd
}

func (c *datagramsIn) run(cmd *cobra.Command, printer func(io.Writer, bool) (datagramPrinter, error)) error {
	asJSON, err := textOrJSON(c.format)
	switch {
	case err != nil:
		return err
	case c.count < 0:
		return usagef("--count %d: want 0 or more", c.count)
	case c.read != "" && cmd.Flags().Changed("listen"):
		return usagef("--read %s and --listen %s: want one of them", c.read, c.listen)
	case c.iface != "" && (c.read != "" || cmd.Flags().Changed("listen")):
		return usagef("--interface %s: want neither --read nor --listen with it", c.iface)
	}
	p, err := printer(cmd.OutOrStdout(), asJSON)
	switch {
	case err != nil:
		return err
	case c.read != "":
		return c.file(cmd, p)
	case c.iface != "":
		return c.pass(cmd, p)
	}
	conn, err := (&net.ListenConfig{}).ListenPacket(cmd.Context(), "udp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	defer conn.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: listening at %s\n", conn.LocalAddr())
	if udp, ok := conn.(*net.UDPConn); ok {
		_ = udp.SetReadBuffer(recordBuffer) // as much of it as the kernel grants
	}
	err = c.receive(cmd.Context(), conn, p)
	return errors.Join(err, p.Report(), tellLost(conn, cmd.ErrOrStderr()))
}

// more reports whether more is wanted.
func (c *datagramsIn) more(ctx context.Context, p datagramPrinter) bool {
	return ctx.Err() == nil && (c.count == 0 || p.Records() < c.count)
}

// tellLost says how many datagrams came faster than they were read.
func tellLost(conn net.PacketConn, out io.Writer) error {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	n, err := capture.DatagramsLost(socket)
	switch {
	case err != nil:
		fmt.Fprintf(out, "tamtam: it is not known how many datagrams were lost before they were read: %v\n", err)
	case n > 0:
		fmt.Fprintf(out, "tamtam: %d datagrams were lost before they could be read\n", n)
	}
	return nil
}

// receive prints what comes until there is enough or the context ends.
func (c *datagramsIn) receive(ctx context.Context, conn net.PacketConn, p datagramPrinter) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 1<<16)
	for c.more(ctx, p) {
		n, from, err := conn.ReadFrom(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("--listen %s: %w", c.listen, err)
		}
		var at netip.AddrPort
		if u, ok := from.(*net.UDPAddr); ok {
			at = netip.AddrPortFrom(u.AddrPort().Addr().Unmap(), u.AddrPort().Port())
		}
		if err := p.Datagram(at, buf[:n]); err != nil {
			return err
		}
	}
	return nil
}

// frames are those of which datagrams are read.
type frames struct {
	whole, cut int
	join       *collector.Joiner
}

// frame prints the datagrams that are complete with a frame, if they are meant.
func (c *datagramsIn) frame(n *frames, f capture.Packet, p datagramPrinter) error {
	if f.Cut() {
		n.cut++
	}
	return c.joined(n, n.join.Add(f.Data, f.Time), p)
}

// joined prints the datagrams of frames. Of those of which fragments are missing the beginning is read.
func (c *datagramsIn) joined(n *frames, list []collector.Joined, p datagramPrinter) error {
	for _, x := range list {
		u, ok := collector.ParseUDP(x.Frame)
		if !ok || u.To.Port() != c.port || c.count > 0 && p.Records() >= c.count {
			continue
		}
		if !x.Incomplete {
			n.whole++
		}
		if err := p.Datagram(u.From, u.Payload); err != nil {
			return err
		}
	}
	return nil
}

// end prints what waited for fragments, tells what was not read of frames, and prints the report.
func (c *datagramsIn) end(n *frames, from string, cmd *cobra.Command, p datagramPrinter) error {
	err := c.joined(n, n.join.Flush(), p)
	out := cmd.ErrOrStderr()
	if n.whole == 0 {
		fmt.Fprintf(out, "tamtam: %s has no datagram to UDP port %d that is whole (--port)\n", from, c.port)
	}
	if n.cut > 0 {
		fmt.Fprintf(out, "tamtam: %d frames are cut by the snap length, and were not read\n", n.cut)
	}
	if text := n.join.Counts().Text(); text != "" {
		fmt.Fprintf(out, "tamtam: %s: %s\n", from, text)
	}
	return errors.Join(err, p.Report())
}

// file prints what a capture has.
func (c *datagramsIn) file(cmd *cobra.Command, p datagramPrinter) error {
	in, err := capture.Open(c.read)
	if err != nil {
		return err
	}
	defer in.Close()
	n := frames{join: collector.NewJoiner(collector.CaptureWait)}
	for c.more(cmd.Context(), p) {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(c.end(&n, c.read, cmd, p), err)
		}
		if err := c.frame(&n, f, p); err != nil {
			return err
		}
	}
	return c.end(&n, c.read, cmd, p)
}

// pass prints what passes an interface.
func (c *datagramsIn) pass(cmd *cobra.Command, p datagramPrinter) error {
	in, err := capture.Listen(c.iface)
	if err != nil {
		return err
	}
	defer in.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: reading %s\n", c.iface)
	n := frames{join: collector.NewJoiner(collector.LiveWait)}
	for c.more(cmd.Context(), p) {
		f, err := in.Next(cmd.Context())
		if cmd.Context().Err() != nil {
			break
		}
		if err == nil {
			err = c.frame(&n, f, p)
		}
		if err != nil {
			return errors.Join(c.end(&n, c.iface, cmd, p), err)
		}
	}
	err = c.end(&n, c.iface, cmd, p)
	out := cmd.ErrOrStderr()
	if lost, unknown := in.Lost(); unknown != nil {
		fmt.Fprintf(out, "tamtam: it is not known how many frames were lost before they were read: %v\n", unknown)
	} else if lost > 0 {
		fmt.Fprintf(out, "tamtam: %d frames were lost before they could be read\n", lost)
	}
	return err
}

// newCollectSFlow makes the command that prints samples of sFlow.
func newCollectSFlow() *cobra.Command {
	c := datagramsIn{port: 6343}
	return c.command(&cobra.Command{
		Use:   "sflow",
		Short: "Print the sFlow samples that come by UDP, pass an interface, or that a capture has",
		Long: `Receive sFlow version 5 by UDP, or read it from an interface of this host or a capture, and print each sample
as it comes: sampled packets, counters of ports, notifications of dropped packets. What the agent does not know is left
out; structures that are not known here are told by number. At the end, after --count samples or when interrupted, a
line for each agent says how much came, and how many of its datagrams did not, by their numbers.`,
	}, "datagrams", "sample", printSFlow)
}

func printSFlow(out io.Writer, asJSON bool) (datagramPrinter, error) {
	return collector.NewSFlow(out, asJSON), nil
}

// newDecodeSFlow makes the command that reads sFlow from a capture.
func newDecodeSFlow() *cobra.Command {
	c := datagramsIn{port: 6343}
	cmd := &cobra.Command{Use: "sflow FILE.pcap", Short: "Samples, counters and drops, from sFlow datagrams",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.read = args[0]
			return c.run(cmd, printSFlow)
		}}
	cmd.Flags().StringVar(&c.format, "format", "text", "text, or json with a sample in each line")
	cmd.Flags().Uint16Var(&c.port, "port", c.port, "the UDP port that datagrams were sent to")
	return cmd
}
