package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/cli"
	"tamtam/collector/capture"
)

func newTrace() *cobra.Command {
	var conf cli.Config
	var data, file string
	var packet int
	var asJSON bool
	c := &cobra.Command{
		Use:   "trace PORT [src A dst B] [protocol P] [src-port N] [dst-port N] ... | frame HEX",
		Short: "Say what would become of a packet, without sending it",
		Long: `Say what would become of a packet that came in at a port of a live switch now, without sending it:
tables, entries, copies, counters, and which change of one entry would let it pass.
It is the shell's "show packet-trace in PORT ...". With --pcap it is a packet of a capture.

Without --target it asks the switch on this machine, as tamtam cli does.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if i := strings.IndexAny(strings.Join(words, " "), "\"'|\\\n"); i >= 0 {
				return usagef("want a port, and fields of the packet with their values")
			}
			if file != "" {
				if len(words) > 1 {
					return usagef("--pcap %s: the packet is in the file, want the port alone", file)
				}
				frame, err := tracedFrame(file, packet)
				if err != nil {
					return err
				}
				words = append(words, "frame", hex.EncodeToString(frame))
			}
			if err := reach(cmd, &conf, data); err != nil {
				return err
			}
			shell, err := cli.New(conf)
			if err != nil {
				return err
			}
			defer shell.Close()
			line := fmt.Sprintf("show packet-trace in %s", strings.Join(words, " "))
			if asJSON {
				line += " | json"
			}
			return shell.Exec(cmd.Context(), line)
		},
	}
	c.Flags().StringVar(&file, "pcap", "", "a packet of this capture, pcap or pcapng")
	c.Flags().IntVar(&packet, "packet", 1, "which packet of --pcap; 1 is the first")
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	serverFlags(c, &conf, &data)
	return c
}

// tracedFrame returns a packet of a capture.
func tracedFrame(file string, number int) ([]byte, error) {
	if number < 1 {
		return nil, usagef("--packet %d: want 1 or more", number)
	}
	r, err := capture.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		p, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s has no packet %d", file, number)
		case err != nil:
			return nil, err
		case p.Number < int64(number):
			continue
		case p.Cut():
			return nil, fmt.Errorf("%s: packet %d was cut to %d bytes of %d, want all of it", file, number, len(p.Data), p.Len)
		}
		return p.Data, nil
	}
}
