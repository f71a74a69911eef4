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
	f.StringVar(&o.to, "ipfix", "", "export the results as IPFIX over UDP to `HOST:PORT[,HOST:PORT...]`")
	f.Uint32Var(&o.opts.Enterprise, "enterprise-id", ipfix.DefaultEnterprise, enterpriseFlag)
	f.Uint32Var(&o.opts.Domain, "ipfix-domain", 1, "observation domain of the records")
	f.IntVar(&o.opts.MTU, "ipfix-mtu", 1500, "MTU of the path to the collectors: no packet is longer")
	f.DurationVar(&o.opts.Refresh, "ipfix-refresh", time.Minute, "time after which templates are sent again")
	f.IntVar(&o.opts.RefreshMessages, "ipfix-refresh-messages", 1000,
		"number of messages after which templates are sent again")
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
		Short: "Print the IPFIX records that arrive by UDP, pass an interface, or are in a capture",
		Long: `Receive IPFIX (RFC 7011) by UDP, or read it from an interface of this host or a capture, and print each
record. Known elements are printed with their names, including those of tamtam and those that an
exporter describes itself. Other elements are printed with their number and their bytes.

The command ends after --count records, at the end of the capture, or at an interrupt. A last line
for each exporter counts what was received, lost, and could not be decoded.`,
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
const ipfixHelp = `With --ipfix, the results are also exported as IPFIX, with the flags that mark incomplete or
uncertain values. At the end, a line on standard error for each collector counts the records that
were sent, and those that could not be sent.`
