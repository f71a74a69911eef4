package collectd

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
	"sync"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/ingest"
	"tamtam/fleet/stream"
)

// Sources are the inputs that a process reads into the log.
type Sources struct {
	Interfaces []string // interfaces of this host
	Captures   []string // files, which are read together, and only once into a log
	// IPFIX and SFlow receive reports of drops, and RecordUDP receives copies of records, each as HOST:PORT; "" means
	// no socket. Sockets are the addresses of all of them.
	IPFIX, SFlow, RecordUDP string
	Sockets                 []netip.AddrPort
	// true if copies of records are also read from Interfaces and Captures
	Records bool
	Names   map[netip.Addr]string // names of switches, by the source addresses of their reports
	// name of this host in the names of its sources; "" means the system's
	Host     string
	Sketches map[string]string // gNMI targets whose sketch tasks are read, by switch name
	Dial     dial.Options      // options for switches that are read over gNMI
}

// A feed reads one input, for one or more sources of the log.
type feed struct {
	name    string
	senders []*ingest.Sender
	before  func(context.Context) error // called before any feed is read; may be nil
	read    func(context.Context) error
	// records that the feed has been read to its end; nil if the feed starts again each time
	done  func(context.Context) error
	after *feed         // must be read to its end before this one; may be nil
	ended chan struct{} // closed at the end of run; nil if no feed waits for it
}

type opener struct {
	Sources
	paths      dial.File // file whose switches are read over gNMI
	version    string    // version of this program
	log        stream.Log
	ledger     stream.Log // records what was read; its messages do not expire
	started    time.Time
	partitions int
	logger     *slog.Logger
}

// open opens all inputs, so that errors are reported at once.
func (o *opener) open(ctx context.Context) ([]*feed, error) {
	if o.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("the name of this host: %w: want --host NAME", err)
		}
		o.Host = host
	}
	var feeds []*feed
	var failed error
	add := func(one *feed, err error) {
		failed = errors.Join(failed, err)
		feeds = append(feeds, one)
	}
	for _, name := range o.Interfaces {
		add(o.watch(name))
	}
	if len(o.Captures) > 0 {
		list, err := o.captures(ctx, o.Captures)
		failed = errors.Join(failed, err)
		feeds = append(feeds, list...)
	}
	for _, socket := range []struct {
		name, address string
		kind          result.Kind
		stamped       bool // true if arrival times are used
		datagram      func(*ingest.Sender) ingest.Datagram
	}{
		{"ipfix", o.IPFIX, result.Drops, false,
			func(s *ingest.Sender) ingest.Datagram { return ingest.NewReports(s, o.Names).IPFIX }},
		{"sflow", o.SFlow, result.Drops, true,
			func(s *ingest.Sender) ingest.Datagram { return ingest.NewReports(s, o.Names).SFlow }},
		{"record-udp", o.RecordUDP, result.Records, true,
			func(s *ingest.Sender) ingest.Datagram { return ingest.NewRecords(s).UDP }},
	} {
		if socket.address != "" {
			add(o.listen(socket.name, socket.address, socket.kind, socket.stamped, socket.datagram))
		}
	}
	for _, m := range ingest.Markings(o.paths) {
		add(o.asked(m.Source(), result.Periods, m.Groups(), func(s *ingest.Sender, report func(dial.Event)) asking {
			m.To, m.Report = s, report
			return m
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sketches)) {
		add(o.asked(name, result.Sketches, nil, func(s *ingest.Sender, report func(dial.Event)) asking {
			return &ingest.Sketching{Switch: name, Target: o.Sketches[name], To: s, Report: func(e dial.SketchEvent) {
				report(dial.Event{Target: e.Target, Kind: e.Kind, Err: e.Err})
			}}
		}))
	}
	return feeds, failed
}

func (o *opener) sender(name string, kind result.Kind, live, stamped bool, started time.Time) (*ingest.Sender, error) {
	return ingest.NewSender(o.log, kind, ingest.Options{Source: event.Name(o.sourceName(name), started),
		Live: live, Stamped: stamped, Partitions: o.partitions})
}

// longestHost is the maximum length of the host's name in the names of sources. The longest interface name and the
// start time follow.
const longestHost = event.MaxSource - 1 - 15 - 1 - 13

// sourceName puts this host's name in front of the name of a source, since other hosts have interfaces of the same
// name.
func (s *Sources) sourceName(name string) string {
	return s.Host[:min(len(s.Host), longestHost)] + ":" + name
}

// begin returns a function that announces that the sources receive everything since the call of begin.
func begin(senders []*ingest.Sender) func(context.Context) error {
	since := time.Now()
	return func(ctx context.Context) (err error) {
		for _, s := range senders {
			err = errors.Join(err, s.Begin(ctx, since))
		}
		return err
	}
}

// tap returns a feed that searches frames, and its tap.
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
	t := &ingest.Tap{Stamps: stamps, Reports: ingest.NewReports(drops, o.Names), IPFIX: ipfix, SFlow: sflow}
	senders := []*ingest.Sender{stamps, drops}
	if o.Records {
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
	t.Sockets = o.Sockets
	f.read = func(ctx context.Context) error { return errors.Join(ingest.Watch(ctx, in, t), in.Close()) }
	return f, nil
}

// listen returns a feed for the datagrams to a socket. stamped means that their arrival times are used.
func (o *opener) listen(name, address string, kind result.Kind, stamped bool,
	receiver func(*ingest.Sender) ingest.Datagram,
) (*feed, error) {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", name, err)
	}
	s, err := o.sender(name, kind, true, stamped, o.started)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	datagram := receiver(s)
	read := func(ctx context.Context) error {
		return errors.Join(ingest.Serve(ctx, conn, datagram, s), conn.Close())
	}
	senders := []*ingest.Sender{s}
	return &feed{name: name, senders: senders, before: begin(senders), read: read}, nil
}

// asking reads a switch by gNMI, until ctx ends.
type asking interface {
	Read(ctx context.Context, o dial.Options) error
}

// asked returns a feed for the gNMI data of a switch.
func (o *opener) asked(name string, kind result.Kind, groups []string,
	of func(*ingest.Sender, func(dial.Event)) asking,
) (*feed, error) {
	s, err := ingest.NewSender(o.log, kind, ingest.Options{Source: event.Name(name, o.started), Live: true,
		Partitions: o.partitions, Groups: groups})
	if err != nil {
		return nil, err
	}
	a := of(s, stateLogger(o.logger))
	return &feed{name: name, senders: []*ingest.Sender{s}, before: s.Announce,
		read: func(ctx context.Context) error { return a.Read(ctx, o.Dial) }}, nil
}

// stateLogger returns a function that logs the state of a switch's connection and sessions, each state once.
func stateLogger(logger *slog.Logger) func(dial.Event) {
	var mu sync.Mutex
	last := map[string]string{}
	return func(e dial.Event) {
		news, bad := e.News()
		level := slog.LevelInfo
		if bad {
			level = slog.LevelWarn
		}
		mu.Lock()
		defer mu.Unlock()
		if last[e.Session] != news {
			last[e.Session] = news
			logger.Log(context.Background(), level, news, "target", e.Target, "session", e.Session)
		}
	}
}

// run reads to the end or until ctx ends, and then marks the source as ended, completely or not. A feed that continues
// at the next start, as captures do, sends nothing when ctx ends.
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
