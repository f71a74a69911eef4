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
		Short: "Predict the fate of a packet at a port, without sending it",
		Long: `Predict what a live switch would do now with a packet that arrives at a port, without sending it. The
output shows the tables and entries on its path, the copies, and the counters. If the packet would be
dropped, it also shows the change of a single entry that would let it pass.

The command runs "show packet-trace in PORT ..." of the shell. With --pcap, the packet comes from a
capture. Without --target, the command connects to the switch on this machine, as tamtam cli does.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if i := strings.IndexAny(strings.Join(words, " "), "\"'|\\\n"); i >= 0 {
				return usagef("want a port, and fields of the packet with their values")
			}
			if file != "" {
				if len(words) > 1 {
					return usagef("--pcap %s: the packet is in the file, want only the port", file)
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
	c.Flags().StringVar(&file, "pcap", "", "trace a packet of this `FILE`, pcap or pcapng")
	c.Flags().IntVar(&packet, "packet", 1, "number of the packet in --pcap; 1 is the first")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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
			return nil, fmt.Errorf("%s: packet %d was cut to %d bytes of %d, want the whole packet", file, number, len(p.Data),
				p.Len)
		}
		return p.Data, nil
	}
}
