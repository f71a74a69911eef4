package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/capture"
)

// A datagramsIn holds the flags of a command that prints datagrams as they come: by UDP, from an interface, or from a
// capture.
type datagramsIn struct {
	listen, read, iface, format string
	port                        uint16
	count                       int64

	// For commands that can do more: a format beside text and json, the path of a Unix socket to listen at, and a
	// function that reads files which are no captures. The function reports whether it has read the file.
	further, unix string
	file          func(ctx context.Context, path string, d *collector.Datagrams) (done bool, err error)
}

// command completes a command. what is the name of the datagrams, and record that of an item printed from a datagram.
func (c *datagramsIn) command(
	cmd *cobra.Command, what, record string, printer func(io.Writer, bool) (collector.DatagramPrinter, error),
) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.run(cmd, printer) }
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", fmt.Sprintf(":%d", c.port), "UDP address at which to listen")
	f.StringVar(&c.iface, "interface", "", "read frames that pass this interface of the host instead; needs CAP_NET_RAW")
	f.StringVar(&c.read, "read", "", "read this `FILE`, pcap or pcapng, instead")
	f.Uint16Var(&c.port, "port", c.port, "with --read and --interface: destination UDP port of the "+what)
	f.StringVar(&c.format, "format", "text", "text, or json with one "+record+" per line")
	f.Int64Var(&c.count, "count", 0, "end after this number of "+record+"s; 0: at an interrupt")
	return cmd
}

func (c *datagramsIn) run(cmd *cobra.Command, printer func(io.Writer, bool) (collector.DatagramPrinter, error)) error {
	var asJSON bool
	if c.format != c.further {
		var err error
		if asJSON, err = textOrJSON(c.format); err != nil {
			return err
		}
	}
	switch {
	case c.count < 0:
		return usagef("--count %d: want 0 or more", c.count)
	case c.read != "" && cmd.Flags().Changed("listen"):
		return usagef("--read %s and --listen %s: want one of them", c.read, c.listen)
	case c.unix != "" && (c.read != "" || c.iface != "" || cmd.Flags().Changed("listen")):
		return usagef("--unix %s: want none of --read, --interface and --listen with it", c.unix)
	case c.iface != "" && (c.read != "" || cmd.Flags().Changed("listen")):
		return usagef("--interface %s: want neither --read nor --listen with it", c.iface)
	}
	p, err := printer(cmd.OutOrStdout(), asJSON)
	if err != nil {
		return err
	}
	out := cmd.ErrOrStderr()
	d := &collector.Datagrams{DatagramPrinter: p, Port: c.port, Count: c.count,
		Progress: func(format string, args ...any) { fmt.Fprintf(out, "tamtam: "+format+"\n", args...) }}
	switch {
	case c.read != "":
		if c.file != nil {
			if done, err := c.file(cmd.Context(), c.read, d); done || err != nil {
				return err
			}
		}
		return d.Read(cmd.Context(), c.read)
	case c.unix != "":
		in, err := capture.ListenUnix(c.unix)
		if err != nil {
			return fmt.Errorf("--unix %s: %w", c.unix, err)
		}
		defer in.Close()
		d.Progress("listening at %s", c.unix)
		return d.Receive(cmd.Context(), in)
	case c.iface != "":
		in, err := capture.Listen(c.iface)
		if err != nil {
			return err
		}
		defer in.Close()
		d.Progress("reading %s", c.iface)
		return d.Watch(cmd.Context(), c.iface, in)
	}
	in, err := listenUDP(cmd, c.listen)
	if err != nil {
		return err
	}
	defer in.Close()
	return d.Receive(cmd.Context(), in)
}

// listenUDP listens at the address of --listen, and prints the address.
func listenUDP(cmd *cobra.Command, address string) (*capture.Socket, error) {
	in, err := capture.ListenUDP(cmd.Context(), address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: listening at %s\n", in.Addr())
	return in, nil
}

// newCollectSFlow returns the command that prints samples of sFlow.
func newCollectSFlow() *cobra.Command {
	c := datagramsIn{port: 6343}
	return c.command(&cobra.Command{
		Use:   "sflow",
		Short: "Print the sFlow samples that arrive by UDP, pass an interface, or are in a capture",
		Long: `Receive sFlow version 5 by UDP, or read it from an interface of this host or a capture, and print each
sample: sampled packets, counters of ports, and notifications of dropped packets. Values that the
agent reports as unknown are omitted. Unknown structures are printed with their number.

The command ends after --count samples, at the end of the capture, or at an interrupt. A last line
for each agent counts its samples, and by their sequence numbers the datagrams that were lost.`,
	}, "datagrams", "sample", printSFlow)
}

func printSFlow(out io.Writer, asJSON bool) (collector.DatagramPrinter, error) {
	return collector.NewSFlow(out, asJSON), nil
}

// newDecodeSFlow returns the command that reads sFlow from a capture.
func newDecodeSFlow() *cobra.Command {
	c := datagramsIn{port: 6343}
	cmd := &cobra.Command{Use: "sflow FILE.pcap", Short: "Print samples, counters and drops, from sFlow datagrams",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.read = args[0]
			return c.run(cmd, printSFlow)
		}}
	cmd.Flags().StringVar(&c.format, "format", "text", "text, or json with one sample per line")
	cmd.Flags().Uint16Var(&c.port, "port", c.port, "destination UDP port of the datagrams")
	return cmd
}
