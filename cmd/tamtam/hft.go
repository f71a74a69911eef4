package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/collector/hftread"
	"tamtam/device"
	"tamtam/internal/command"
	"tamtam/mgmt/hftmetrics"
	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/otlp"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/ipfix"
)

const hftHelp = `Receive streams of high-frequency telemetry by UDP or a Unix socket, or read them from an interface of
this host, a capture, or a file with messages of IPFIX. Print each record: a time, and a value for each
statistic of each object.

Streams in SONiC's format and conforming streams (RFC 7011) are told apart by their templates. In
SONiC's format templates and names of objects are in STATE_DB of the switch: give its Redis as --redis.
Without it, objects have their labels for names, and templates must be in the stream.

Each gap of a stream is compared with its interval: that of --interval, the one that the stream
announces, or its most frequent gap. Lines between the records name what is not as it should be: gap,
irregular, duplicate, late, partial, switched (other templates), redefined, relabelled. The command
ends after --count records, at the end of the file, or at an interrupt. Last lines count records and
losses of each exporter, and the gaps of each stream.

With --format csv, each value is a line of standard output, and all else goes to standard error. With
--otlp, the values are also sent to an OpenTelemetry collector: counters as monotonic sums, levels and
watermarks as gauges.`

// An hftIn holds the flags of the command that prints streams of high-frequency telemetry.
type hftIn struct {
	datagramsIn
	enterprise uint32
	interval   time.Duration
	redis      redisFlags
	otlp       string
}

func newCollectHFT() *cobra.Command {
	c := &hftIn{datagramsIn: datagramsIn{port: 4739, further: "csv", file: messagesFile}}
	cmd := &cobra.Command{
		Use:   "hft",
		Short: "Print the streams of high-frequency telemetry that arrive by UDP or a Unix socket, or are in a file",
		Long:  hftHelp,
	}
	c.command(cmd, "messages", "record", func(out io.Writer, asJSON bool) (collector.DatagramPrinter, error) {
		return c.printer(cmd, out, asJSON)
	})
	f := cmd.Flags()
	f.Lookup("format").Usage = "text, json with one record per line, or csv with one value per line"
	f.Lookup("read").Usage = "read this `FILE`, pcap, pcapng or messages of IPFIX, instead"
	f.StringVar(&c.unix, "unix", "", "listen at the Unix socket with this `PATH` instead")
	f.Uint32Var(&c.enterprise, "enterprise-id", ipfix.DefaultEnterprise, "private enterprise number of conforming streams")
	f.DurationVar(&c.interval, "interval", 0, "time between two records of a stream, such as 10us; 0: as the stream shows")
	f.StringVar(&c.otlp, "otlp", "", "also send the values to this OpenTelemetry collector: grpc://HOST:PORT, "+
		"grpcs://, http:// or https://")
	c.redis.flags(cmd, "", "Redis of the switch, with the templates and names of its streams: HOST:PORT or unix:PATH")
	return cmd
}

func (c *hftIn) printer(cmd *cobra.Command, out io.Writer, asJSON bool) (collector.DatagramPrinter, error) {
	if err := hftread.Enterprise(c.enterprise); err != nil {
		return nil, usagef("--enterprise-id %v", err)
	}
	if c.interval < 0 {
		return nil, usagef("--interval %v: want 0 or more", c.interval)
	}
	format := c.format
	if asJSON {
		format = "json"
	}
	o := hftread.Options{Format: format, Enterprise: c.enterprise, Interval: c.interval, Notes: cmd.ErrOrStderr()}
	s := &hftSource{ctx: cmd.Context(), notes: cmd.ErrOrStderr()}
	if c.otlp != "" {
		to, err := outputs.ParseTarget(c.otlp, otlp.Schemes())
		if err != nil {
			return nil, usagef("--otlp %v", err)
		}
		s.otlp = newHFTOutput(to)
		o.Each = s.otlp.add
	}
	var err error
	if s.Printer, err = hftread.New(out, o); err != nil || c.redis.addr == "" && c.redis.database == "" {
		return s, err
	}
	if s.redis, err = c.redis.openNow(cmd.Context()); err != nil {
		return nil, err
	}
	s.table = swss.NewTable(s.redis.DB(swss.StateDB), schema.StateHFTSession)
	return s, s.read()
}

// writeValues makes a run write the values of its streams to a file, and returns what closes the file.
func writeValues(cmd *cobra.Command, r *device.Replay, path string) (done func() error, err error) {
	out, closeFile := cmd.OutOrStdout(), func() error { return nil }
	switch path {
	case "":
		return closeFile, nil
	case "-":
	default:
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		out, closeFile = f, f.Close
	}
	s := &hftSource{ctx: cmd.Context(), notes: cmd.ErrOrStderr()}
	if s.Printer, err = hftread.New(out, hftread.Options{Format: "csv", Notes: s.notes}); err != nil {
		return nil, errors.Join(err, closeFile())
	}
	here := netip.MustParseAddrPort("127.0.0.1:4739")
	r.Streams = func(sim *device.Sim, m saisim.StreamMessage) error {
		if s.table == nil || s.redis != sim.Redis {
			s.redis, s.table = sim.Redis, swss.NewTable(sim.Redis.DB(swss.StateDB), schema.StateHFTSession)
		}
		return s.Datagram(here, m.Bytes)
	}
	return func() error { return errors.Join(s.Printer.Report(), closeFile()) }, nil
}

// messagesFile prints the messages in a file of IPFIX messages. It returns false for other files.
func messagesFile(ctx context.Context, path string, d *collector.Datagrams) (done bool, err error) {
	if is, err := hftread.IsMessages(path); !is || err != nil {
		return false, err
	}
	err = hftread.Messages(path, func() bool { return d.More(ctx) }, d.Datagram)
	return true, errors.Join(err, d.Report())
}

// An hftSource is a printer with the sessions of a switch, if there is one. It reads them again when a datagram needs a
// template that is not there: the switch writes a session before it sends records of its templates.
type hftSource struct {
	*hftread.Printer
	otlp  *hftOutput // nil without --otlp
	ctx   context.Context
	redis *swss.Redis // nil without --redis
	table *swss.Table
	notes io.Writer
	last  map[string]swss.FieldValues
	after time.Time // when the sessions may be read again after a read that brought no template
	wrong string    // the last error, which is reported once
}

// againAfter is the least time between two reads of the sessions for streams whose session never comes.
const againAfter = 20 * time.Millisecond

// Datagram prints the records of messages, with the templates of their sessions.
func (s *hftSource) Datagram(from netip.AddrPort, payload []byte) error {
	if s.redis != nil && s.Lacks(from, payload) && time.Now().After(s.after) {
		if err := s.read(); err != nil && s.ctx.Err() == nil {
			return err
		}
		if s.Lacks(from, payload) {
			s.after = time.Now().Add(againAfter)
		}
	}
	return s.Printer.Datagram(from, payload)
}

// read reads the sessions, and reports those that are wrong.
func (s *hftSource) read() error {
	rows, err := s.table.Dump(s.ctx)
	if err != nil {
		return err
	}
	if maps.EqualFunc(rows, s.last, maps.Equal[swss.FieldValues, swss.FieldValues]) {
		return nil
	}
	s.last = rows
	var list []hftread.Session
	wrong := ""
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row, err := schema.ParseHFTSession(key, rows[key])
		if err != nil {
			wrong += fmt.Sprintf("tamtam: %v\n", err)
			continue
		}
		session := hftread.Session{Templates: row.Templates, Labels: map[uint16]string{}}
		for i, label := range row.Labels {
			session.Labels[label] = row.Objects[i]
		}
		list = append(list, session)
	}
	if wrong != s.wrong {
		s.wrong = wrong
		io.WriteString(s.notes, wrong)
	}
	return s.Sessions(list)
}

// Report prints the report, sends the remaining values, and closes the connections.
func (s *hftSource) Report() error {
	err := s.Printer.Report()
	if s.otlp != nil {
		fmt.Fprintf(s.notes, "tamtam: %s\n", s.otlp.close())
	}
	if s.redis != nil {
		err = errors.Join(err, s.redis.Close())
	}
	return err
}

// An hftOutput sends records to an OpenTelemetry collector, several in a message.
type hftOutput struct {
	*outputs.Output
	to      outputs.Target
	starts  hftmetrics.Starts
	records int64 // records in pending
	pending []byte
	since   time.Time // arrival of the first record in pending
	cancel  context.CancelFunc
	done    chan struct{}
}

// Limits of a message, which is sent when the next record comes, and of the messages that wait.
const (
	hftMessage = 1 << 20
	hftDelay   = 200 * time.Millisecond
	hftSpool   = 64 << 20
)

// newHFTOutput returns an output that sends to a collector until close is called.
func newHFTOutput(to outputs.Target) *hftOutput {
	bounds := outputs.DefaultBounds()
	bounds.Bytes = hftSpool
	o := &hftOutput{Output: outputs.New(otlp.NewLink(to, nil), bounds), to: to, done: make(chan struct{})}
	var ctx context.Context
	ctx, o.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(o.done)
		_ = o.Run(ctx) // ends without an error
	}()
	return o
}

// add adds a record, with the time of its sample.
func (o *hftOutput) add(exporter string, r *hftread.Record) error {
	data, err := otlp.Encode(otlp.Resource{Host: exporter, Version: command.Version()},
		o.starts.Families(exporter, r), time.Unix(0, r.At))
	if err != nil {
		return err
	}
	if o.records++; o.records == 1 {
		o.since = time.Now()
	}
	o.pending = append(o.pending, data...) // a message of several encoded messages has the metrics of all
	if len(o.pending) >= hftMessage || time.Since(o.since) >= hftDelay {
		o.flush()
	}
	return nil
}

func (o *hftOutput) flush() {
	if o.records > 0 {
		o.Put(time.Now(), o.pending)
	}
	o.records, o.pending = 0, nil
}

// close sends the remaining records, and returns the numbers of messages that were sent and lost.
func (o *hftOutput) close() string {
	o.flush()
	o.cancel()
	<-o.done
	st := o.Status(time.Now())
	text := fmt.Sprintf("%s: %d messages sent", o.to, st.Sent)
	if lost := st.Losses.Total() + uint64(st.Waiting); lost > 0 {
		text += fmt.Sprintf(", %d not sent: %s", lost, st.Reason)
	}
	return text
}
