package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/export"
	"tamtam/collector/marks"
	"tamtam/tam/ipfix"
)

// An ipfixOut holds the flags of the export as IPFIX.
type ipfixOut struct {
	to       string
	opts     export.Options
	reported map[string]bool
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

// dial opens the sockets, if there are collectors to send to. The caller must call close.
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
	o.err, o.reported = cmd.ErrOrStderr(), map[string]bool{}
	return nil
}

// flush sends the pending records. If a collector does not receive everything, it reports that once.
func (o *ipfixOut) flush() error {
	if o.Exporter == nil {
		return nil
	}
	o.Flush(time.Now())
	for _, s := range o.Sent() {
		if s.NotSent+s.Refused > 0 && !o.reported[s.To] {
			o.reported[s.To] = true
			fmt.Fprintf(o.err, "tamtam: %s\n", s)
		}
	}
	return nil
}

// close sends the remaining records, and prints the statistics of each collector.
func (o *ipfixOut) close() {
	if o.Exporter == nil {
		return
	}
	for _, s := range o.Close(time.Now()) {
		fmt.Fprintf(o.err, "tamtam: %s\n", s)
	}
}

// stamps makes stamped frames be exported.
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

// results exports measurements of alternate marking.
func (o *ipfixOut) results(results []marks.Result) error {
	if o.Exporter == nil {
		return nil
	}
	o.AltMark(time.Now(), results)
	return o.flush()
}

// newCollectIPFIX returns the command that prints records of IPFIX.
func newCollectIPFIX() *cobra.Command {
	c := datagramsIn{port: 4739}
	var enterprise uint32
	cmd := c.command(&cobra.Command{
		Use:   "ipfix",
		Short: "Print the IPFIX records that come by UDP, or that a capture has",
		Long: `Receive IPFIX (RFC 7011) by UDP, or read it from a capture, and print each record as it comes: elements
by their names, as many as are known here, tamtam's own ones too; those that their exporter describes as it does; others
by number, with their bytes. At the end, after --count records or when interrupted, a line for each exporter says how
much came, and what was lost or could not be read.`,
	}, "messages", "record", func(out io.Writer, asJSON bool) (collector.DatagramPrinter, error) {
		if enterprise == 0 {
			return nil, usagef("--enterprise-id 0: want 1 or more")
		}
		return export.NewPrinter(out, asJSON, enterprise), nil
	})
	cmd.Flags().Uint32Var(&enterprise, "enterprise-id", ipfix.DefaultEnterprise, enterpriseFlag)
	return cmd
}

// ipfixHelp is a paragraph of the help of commands with --ipfix.
const ipfixHelp = `With --ipfix it is sent on, each record with its flags and doubts; what was sent, and what could
not be, is told on standard error at the end.`
