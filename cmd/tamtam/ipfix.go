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
	"tamtam/collector/export"
	"tamtam/tam/ipfix"
)

// An ipfixOut holds the flags of what is exported as IPFIX.
type ipfixOut struct {
	to   string
	opts export.Options
	told map[string]bool
	*export.Exporter
	err io.Writer
}

const enterpriseFlag = "private enterprise number of tamtam's own elements"

func (o *ipfixOut) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.to, "ipfix", "", "send what is collected as IPFIX over UDP to `HOST:PORT[,HOST:PORT...]`")
	f.Uint32Var(&o.opts.Enterprise, "enterprise-id", ipfix.DefaultEnterprise, enterpriseFlag)
	f.Uint32Var(&o.opts.Domain, "ipfix-domain", 1, "observation domain of the records")
	f.IntVar(&o.opts.MTU, "ipfix-mtu", 1500, "MTU of the way to the collectors: no packet is longer")
	f.DurationVar(&o.opts.Refresh, "ipfix-refresh", time.Minute, "send templates again so often")
	f.IntVar(&o.opts.RefreshMessages, "ipfix-refresh-messages", 1000, "and after so many messages")
}

// dial opens the sockets, if there is somebody to send to. close is to be called.
func (o *ipfixOut) dial(cmd *cobra.Command) error {
	if o.to == "" {
		for _, name := range []string{
			"enterprise-id", "ipfix-domain", "ipfix-mtu", "ipfix-refresh", "ipfix-refresh-messages",
		} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s without --ipfix: want a collector to send to", name)
			}
		}
		return nil
	}
	if o.opts.Enterprise == 0 {
		return usagef("--enterprise-id 0: want 1 or more")
	}
	var err error
	if o.opts.To, err = export.Split(o.to); err != nil {
		return usagef("--ipfix: %v", err)
	}
	if o.Exporter, err = export.Dial(cmd.Context(), o.opts); err != nil {
		return usagef("--ipfix: %v", err)
	}
	o.err, o.told = cmd.ErrOrStderr(), map[string]bool{}
	return nil
}

// flush sends what there is, and says of each collector once that it does not get all.
func (o *ipfixOut) flush() error {
	if o.Exporter == nil {
		return nil
	}
	o.Flush(time.Now())
	for _, s := range o.Sent() {
		if s.NotSent+s.Refused > 0 && !o.told[s.To] {
			o.told[s.To] = true
			fmt.Fprintf(o.err, "tamtam: %s\n", s)
		}
	}
	return nil
}

// close sends the rest, and says what became of all.
func (o *ipfixOut) close() {
	if o.Exporter == nil {
		return
	}
	for _, s := range o.Close(time.Now()) {
		fmt.Fprintf(o.err, "tamtam: %s\n", s)
	}
}

// stamps has stamped frames exported.
func (o *ipfixOut) stamps(opts *collector.DecodeOptions) {
	if o.Exporter == nil {
		return
	}
	opts.Each = func(f collector.StampedFrame) error {
		o.TailStamp(time.Now(), f)
		return nil
	}
	opts.Reported = o.flush
}

// results exports what alternate marking measured.
func (o *ipfixOut) results(results []collector.AltMarkResult) error {
	if o.Exporter == nil {
		return nil
	}
	o.AltMark(time.Now(), results)
	return o.flush()
}

// An ipfixIn holds the flags of `collect ipfix`.
type ipfixIn struct {
	listen, read, format string
	enterprise           uint32
	port                 uint16
	count                int64
}

func newCollectIPFIX() *cobra.Command {
	var c ipfixIn
	cmd := &cobra.Command{
		Use:   "ipfix",
		Short: "Print the IPFIX records that come by UDP, or that a capture has",
		Args:  cobra.NoArgs,
		Long: `Receive IPFIX (RFC 7011) by UDP, or read it from a capture, and print each record as it comes: elements
by their names, as many as are known here, tamtam's own ones too; those that their exporter describes as it does; others
by number, with their bytes. At the end, after --count records or when interrupted, a line for each exporter says how
much came, and what was lost or could not be read.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", ":4739", "UDP address to listen at")
	f.StringVar(&c.read, "read", "", "read this `FILE`, pcap or pcapng, instead")
	f.Uint16Var(&c.port, "port", 4739, "with --read: the UDP port that messages were sent to")
	f.StringVar(&c.format, "format", "text", "text, or json with a record in each line")
	f.Int64Var(&c.count, "count", 0, "end after so many records; 0: when interrupted")
	f.Uint32Var(&c.enterprise, "enterprise-id", ipfix.DefaultEnterprise, enterpriseFlag)
	return cmd
}

func (c *ipfixIn) run(cmd *cobra.Command) error {
	asJSON, err := textOrJSON(c.format)
	switch {
	case err != nil:
		return err
	case c.count < 0:
		return usagef("--count %d: want 0 or more", c.count)
	case c.enterprise == 0:
		return usagef("--enterprise-id 0: want 1 or more")
	case c.read != "" && cmd.Flags().Changed("listen"):
		return usagef("--read %s and --listen %s: want one of them", c.read, c.listen)
	}
	p := export.NewPrinter(cmd.OutOrStdout(), asJSON, c.enterprise)
	if c.read != "" {
		return c.file(cmd, p)
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
func (c *ipfixIn) receive(ctx context.Context, conn net.PacketConn, p *export.Printer) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buf := make([]byte, 1<<16)
	for c.count == 0 || p.Records() < c.count {
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

// file prints what a capture has.
func (c *ipfixIn) file(cmd *cobra.Command, p *export.Printer) error {
	in, err := capture.Open(c.read)
	if err != nil {
		return err
	}
	defer in.Close()
	messages, cut := 0, 0
	for cmd.Context().Err() == nil && (c.count == 0 || p.Records() < c.count) {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(p.Report(), err)
		}
		if f.Cut() {
			cut++
		}
		u, ok := collector.ParseUDP(f.Data)
		if !ok || u.To.Port() != c.port {
			continue
		}
		messages++
		if err := p.Datagram(u.From, u.Payload); err != nil {
			return err
		}
	}
	if messages == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s has no datagram to UDP port %d that is whole (--port)\n", c.read, c.port)
	}
	if cut > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %d frames are cut by the snap length, and were not read\n", cut)
	}
	return p.Report()
}

// ipfixHelp is a paragraph of the help of commands with --ipfix.
const ipfixHelp = `With --ipfix it is sent on, each record with its flags and doubts; what was sent, and what could
not be, is told on standard error at the end.`
