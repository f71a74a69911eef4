package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"tamtam/collector/capture"
	"tamtam/collector/stream"
	"tamtam/collectord/event"
	"tamtam/collectord/ingest"
	"tamtam/collectord/join"
	"tamtam/collectord/result"
)

// Config says what a collector reads, and how much it keeps.
type Config struct {
	// Interfaces of this host whose frames are read: tail-stamps, also in ERSPAN, and reports of drops.
	Interfaces []string
	// IPFIX and SFlow are UDP addresses to listen at; "": none.
	IPFIX, SFlow string
	// Names are those of switches by the addresses that their reports come from.
	Names map[netip.Addr]string
	// Join says how windows are joined.
	Join join.Options
	// LogBytes and StoreRows bound the memory (0: what stream.Memory and result.Memory keep).
	LogBytes  int64
	StoreRows int
	Logger    *slog.Logger // nil: the default
}

// The UDP ports at which frames have reports of drops.
const (
	portIPFIX = 4739
	portSFlow = 6343
)

// A Collector runs from Start to Close.
type Collector struct {
	config Config
	log    *stream.Memory
	store  *result.Memory
	began  time.Time

	read     context.Context // of those that read
	readEnd  context.CancelFunc
	readers  sync.WaitGroup
	joins    context.Context // of the workers
	joinsEnd context.CancelFunc
	workers  sync.WaitGroup

	mu     sync.Mutex
	failed []error
}

// Start begins to read and to join. It returns an error if something cannot be opened.
func Start(c Config) (*Collector, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	k := &Collector{config: c, log: stream.NewMemory(c.LogBytes), store: result.NewMemory(c.StoreRows), began: time.Now()}
	k.read, k.readEnd = context.WithCancel(context.Background())
	k.joins, k.joinsEnd = context.WithCancel(context.Background())
	if err := k.open(); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	for _, kind := range []event.Kind{event.Stamps, event.Drops} {
		k.workers.Go(func() {
			w := join.Worker{Log: k.log, Store: k.store, Options: c.Join, Logger: c.Logger}
			k.note(w.Run(k.joins, ingest.Partition(kind, 0)))
		})
	}
	return k, nil
}

func (k *Collector) open() error {
	for _, name := range k.config.Interfaces {
		if err := k.watch(name); err != nil {
			return err
		}
	}
	if k.config.IPFIX != "" {
		err := k.listen("ipfix", k.config.IPFIX, func(r *ingest.Reports) ingest.Datagram { return r.IPFIX })
		if err != nil {
			return err
		}
	}
	if k.config.SFlow != "" {
		return k.listen("sflow", k.config.SFlow, func(r *ingest.Reports) ingest.Datagram { return r.SFlow })
	}
	return nil
}

// sender is a new source of the log.
func (k *Collector) sender(name string, kind event.Kind, live bool) (*ingest.Sender, error) {
	return ingest.NewSender(k.log, kind, ingest.Options{Source: ingest.Name(name, k.began), Live: live})
}

// tap is what looks through the frames of a source.
func (k *Collector) tap(name string, live bool) (*ingest.Tap, []*ingest.Sender, error) {
	stamps, err := k.sender(name, event.Stamps, live)
	if err != nil {
		return nil, nil, err
	}
	drops, err := k.sender(name, event.Drops, live)
	if err != nil {
		return nil, nil, err
	}
	t := &ingest.Tap{Stamps: stamps, Reports: ingest.NewReports(drops, k.config.Names), IPFIX: portIPFIX, SFlow: portSFlow}
	return t, []*ingest.Sender{stamps, drops}, nil
}

func (k *Collector) watch(name string) error {
	in, err := capture.Listen(name)
	if err != nil {
		return err
	}
	tap, senders, err := k.tap(name, true)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	k.run(senders, func(ctx context.Context) error {
		return errors.Join(ingest.Watch(ctx, in, tap), in.Close())
	})
	return nil
}

func (k *Collector) listen(name, address string, take func(*ingest.Reports) ingest.Datagram) error {
	conn, err := (&net.ListenConfig{}).ListenPacket(k.read, "udp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s, err := k.sender(name, event.Drops, true)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	r := ingest.NewReports(s, k.config.Names)
	k.run([]*ingest.Sender{s}, func(ctx context.Context) error {
		return errors.Join(ingest.Serve(ctx, conn, take(r), s), conn.Close())
	})
	return nil
}

// run runs what reads for some senders, until it ends; then they say that no more comes.
func (k *Collector) run(senders []*ingest.Sender, read func(context.Context) error) {
	k.readers.Go(func() {
		ctx, stop := context.WithCancel(k.read)
		var steps sync.WaitGroup
		steps.Go(func() { k.note(ingest.Steps(ctx, senders...)) })
		k.note(read(ctx))
		stop()
		steps.Wait()
		for _, s := range senders {
			k.note(s.Close(k.joins))
		}
	})
}

// ReadCapture reads a capture to its end, as a source of its own. Rows are in the store when what it has is joined.
func (k *Collector) ReadCapture(ctx context.Context, name, path string) error {
	tap, senders, err := k.tap(name, false)
	if err != nil {
		return err
	}
	err = ingest.ReadCapture(ctx, path, tap)
	for _, s := range senders {
		err = errors.Join(err, s.Close(ctx))
	}
	return err
}

func (k *Collector) note(err error) {
	if err == nil {
		return
	}
	k.config.Logger.Error("the collector is not whole any more", "reason", err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = append(k.failed, err)
}

// Store has the rows.
func (k *Collector) Store() result.Store { return k.store }

// Close ends reading and joining, and returns what went wrong since Start. The store can still be read.
func (k *Collector) Close() error {
	k.readEnd()
	k.readers.Wait()
	k.joinsEnd()
	k.workers.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return errors.Join(k.failed...)
}
