package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/ingest"
	"tamtam/fleet/stream"
)

// sourceFlags say what is read.
type sourceFlags struct {
	interfaces   []string
	captures     []string
	ipfix, sflow string
	records      bool
	recordUDP    string
	names        map[string]string
	host         string
	gnmi         gnmiFlags

	byAddress map[netip.Addr]string
	sockets   []netip.AddrPort // of ipfix, sflow and recordUDP
}

func (f *sourceFlags) flags(c *cobra.Command) {
	s := c.Flags()
	s.StringSliceVar(&f.interfaces, "interface", nil, "interfaces whose stamps and reports are read, also in ERSPAN")
	s.StringSliceVar(&f.captures, "pcap", nil, "capture files that are read in the same way, together, once into a log")
	s.StringVar(&f.ipfix, "ipfix", "", "HOST:PORT at which reports of drops come as IPFIX over UDP")
	s.StringVar(&f.sflow, "sflow", "", "HOST:PORT at which reports of drops come as sFlow")
	s.BoolVar(&f.records, "records", false, "read copies of records in --interface and --pcap, too: in UDP and ERSPAN")
	s.StringVar(&f.recordUDP, "record-udp", "", "HOST:PORT at which copies of records come over UDP")
	s.StringToStringVar(&f.names, "name", nil, "names of switches by the addresses of their reports: ADDRESS=NAME")
	s.StringVar(&f.host, "host", "", "name of this host in those of its sources, equal after a restart; empty: its own")
	f.gnmi.flags(c)
}

// check holds the flags to what the role needs.
func (f *sourceFlags) check(reads bool) error {
	if err := f.gnmi.check(reads); err != nil {
		return err
	}
	given := len(f.interfaces) > 0 || len(f.captures) > 0 || f.ipfix != "" || f.sflow != "" || f.records ||
		f.recordUDP != ""
	if !reads && given {
		return usagef("--interface, --pcap, --ipfix, --sflow, --records, --record-udp: only role %s reads", roleIngest)
	}
	if err := f.checkSockets(); err != nil {
		return err
	}
	if f.host != "" && !dial.ValidName(f.host) {
		return usagef("--host %q: want up to 100 printable characters without spaces and |:,+", f.host)
	}
	if f.records && len(f.interfaces)+len(f.captures) == 0 {
		return usagef("--records: there is neither --interface nor --pcap to read them from: want one, or --record-udp")
	}
	seen := map[string]bool{"ipfix": true, "sflow": true, "record-udp": true, "captures": true} // names of other sources
	for _, name := range slices.Concat(f.interfaces, f.captures) {
		if seen[name] {
			return usagef("--interface or --pcap %q: want each once, and not ipfix, sflow, record-udp or captures", name)
		}
		seen[name] = true
	}
	return f.checkNames()
}

// checkSockets holds the addresses at which datagrams come to HOST:PORT, and notes them.
func (f *sourceFlags) checkSockets() error {
	for _, flag := range []struct{ name, address string }{
		{"ipfix", f.ipfix}, {"sflow", f.sflow}, {"record-udp", f.recordUDP},
	} {
		if flag.address == "" {
			continue
		}
		at, err := net.ResolveUDPAddr("udp", flag.address)
		if err != nil {
			return usagef("--%s %q: want HOST:PORT (%w)", flag.name, flag.address, err)
		}
		f.sockets = append(f.sockets, socketOf(at))
	}
	return nil
}

// socketOf is an address at which a socket listens; without one it is that of all.
func socketOf(a *net.UDPAddr) netip.AddrPort {
	if a.IP == nil {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(a.Port))
	}
	return a.AddrPort()
}

func (f *sourceFlags) checkNames() error {
	f.byAddress = map[netip.Addr]string{}
	for address, name := range f.names {
		a, err := netip.ParseAddr(address)
		if err != nil || name == "" || strings.ContainsAny(name, " \t\n") {
			return usagef("--name %s=%s: want ADDRESS=NAME, such as 10.0.0.1=leaf1", address, name)
		}
		f.byAddress[a.Unmap()] = name
	}
	return nil
}

// A feed reads one thing, for one source of the log or two.
type feed struct {
	name    string
	senders []*ingest.Sender
	before  func(context.Context) error // nil, or what is done before any feed is read
	read    func(context.Context) error
	done    func(context.Context) error // notes that it is read to its end; nil if a feed goes on at each start
	after   *feed                       // read to its end before this one; nil if there is none
	ended   chan struct{}               // closed at the end of run; nil if no feed waits for it
}

// opener makes feeds into a log.
type opener struct {
	flags      *sourceFlags
	log        stream.Log
	books      stream.Log // of what was read: it does not age
	started    time.Time
	partitions int
	logger     *slog.Logger
}

// open opens all that is to be read, so that what cannot be is known at once.
func (f *sourceFlags) open(ctx context.Context, log, books stream.Log, started time.Time, partitions int,
	logger *slog.Logger,
) ([]*feed, error) {
	if f.host == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("the name of this host: %w: want --host NAME", err)
		}
		f.host = host
	}
	o := &opener{f, log, books, started, partitions, logger}
	var feeds []*feed
	var failed error
	add := func(one *feed, err error) {
		failed = errors.Join(failed, err)
		feeds = append(feeds, one)
	}
	for _, name := range f.interfaces {
		add(o.watch(name))
	}
	if len(f.captures) > 0 {
		list, err := o.captures(ctx, f.captures)
		failed = errors.Join(failed, err)
		feeds = append(feeds, list...)
	}
	if f.ipfix != "" {
		add(o.listen("ipfix", f.ipfix, (*ingest.Reports).IPFIX, false))
	}
	if f.sflow != "" {
		add(o.listen("sflow", f.sflow, (*ingest.Reports).SFlow, true))
	}
	if f.recordUDP != "" {
		add(o.listenRecords(f.recordUDP))
	}
	for _, m := range ingest.Markings(f.gnmi.file) {
		add(o.marking(m))
	}
	for _, name := range slices.Sorted(maps.Keys(f.gnmi.sketches)) {
		add(o.sketching(name))
	}
	return feeds, failed
}

func (o *opener) sender(name string, kind result.Kind, live, stamped bool, started time.Time) (*ingest.Sender, error) {
	return ingest.NewSender(o.log, kind, ingest.Options{Source: event.Name(o.flags.sourceName(name), started),
		Live: live, Stamped: stamped, Partitions: o.partitions})
}

// longestHost is how much of the host's name stands in those of sources: behind it the longest name of an interface,
// and when it was started.
const longestHost = event.MaxSource - 1 - 15 - 1 - 13

// sourceName is that of what is read on this host: other hosts have interfaces of the same name.
func (f *sourceFlags) sourceName(name string) string {
	return f.host[:min(len(f.host), longestHost)] + ":" + name
}

// begin has sources tell that they hear from now on what there is.
func begin(senders []*ingest.Sender) func(context.Context) error {
	since := time.Now()
	return func(ctx context.Context) (err error) {
		for _, s := range senders {
			err = errors.Join(err, s.Begin(ctx, since))
		}
		return err
	}
}

// tap makes a feed that looks through frames.
func (o *opener) tap(name string, live bool, started time.Time) (*feed, *ingest.Tap, error) {
	stamps, err := o.sender(name, result.Stamps, live, live, started)
	if err != nil {
		return nil, nil, err
	}
	drops, err := o.sender(name, result.Drops, live, false, started)
	if err != nil {
		return nil, nil, err
	}
	const ipfix, sflow = 4739, 6343
	t := &ingest.Tap{Stamps: stamps, Reports: ingest.NewReports(drops, o.flags.byAddress), IPFIX: ipfix, SFlow: sflow}
	senders := []*ingest.Sender{stamps, drops}
	if o.flags.records {
		copies, err := o.sender(name, result.Records, live, live, started)
		if err != nil {
			return nil, nil, err
		}
		t.Records = ingest.NewRecords(copies)
		senders = append(senders, copies)
	}
	return &feed{name: name, senders: senders}, t, nil
}

func (o *opener) watch(name string) (*feed, error) {
	in, err := capture.Listen(name)
	if err != nil {
		return nil, fmt.Errorf("--interface %s: %w", name, err)
	}
	f, t, err := o.tap(name, true, o.started)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	f.before = begin(f.senders)
	t.Sockets = o.flags.sockets
	f.read = func(ctx context.Context) error { return errors.Join(ingest.Watch(ctx, in, t), in.Close()) }
	return f, nil
}

type reader func(r *ingest.Reports, ctx context.Context, from netip.AddrPort, data []byte, at time.Time) error

// listen makes a feed of reports that come to a socket; stamped: with the time at which they come.
func (o *opener) listen(name, address string, take reader, stamped bool) (*feed, error) {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", name, err)
	}
	s, err := o.sender(name, result.Drops, true, stamped, o.started)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r := ingest.NewReports(s, o.flags.byAddress)
	datagram := func(ctx context.Context, from netip.AddrPort, data []byte, at time.Time) error {
		return take(r, ctx, from, data, at)
	}
	read := func(ctx context.Context) error {
		return errors.Join(ingest.Serve(ctx, conn, datagram, s), conn.Close())
	}
	senders := []*ingest.Sender{s}
	return &feed{name: name, senders: senders, before: begin(senders), read: read}, nil
}

// listenRecords makes a feed of copies of records that come over UDP.
func (o *opener) listenRecords(address string) (*feed, error) {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, fmt.Errorf("--record-udp: %w", err)
	}
	s, err := o.sender("record-udp", result.Records, true, true, o.started)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r := ingest.NewRecords(s)
	read := func(ctx context.Context) error {
		return errors.Join(ingest.Serve(ctx, conn, r.UDP, s), conn.Close())
	}
	senders := []*ingest.Sender{s}
	return &feed{name: "record-udp", senders: senders, before: begin(senders), read: read}, nil
}

// run reads to the end or until ctx ends, and then says that no more comes, and whether that was all. What goes on at
// the next start where it was, as captures do, says nothing when ctx ends.
func (f *feed) run(ctx context.Context) error {
	if f.ended != nil {
		defer close(f.ended)
	}
	if f.after != nil {
		select {
		case <-f.after.ended:
		case <-ctx.Done():
			return nil
		}
	}
	err := f.read(ctx)
	if f.done != nil && ctx.Err() != nil {
		return nil
	}
	end := (*ingest.Sender).Close
	if err != nil || ctx.Err() != nil {
		end = (*ingest.Sender).Leave
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	for _, s := range f.senders {
		err = errors.Join(err, end(s, last))
	}
	if f.done != nil && last.Err() == nil {
		err = errors.Join(err, f.done(last))
	}
	if err != nil {
		return fmt.Errorf("source %s: %w", f.name, err)
	}
	return nil
}
