package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/ingest"
	"tamtam/fleet/join"
)

// Config configures the reading of captures and the memory limits.
type Config struct {
	// Names holds the names of switches by the source addresses of their reports.
	Names map[netip.Addr]string
	// Join configures the join of windows. Copies of records are read if it has a topology.
	Join join.Options
	// LogBytes and StoreRows bound the memory; 0 means the defaults of stream.Memory and result.Memory. The log must
	// hold the events of all captures in a window. Otherwise the sources wait, and continue when the window is closed
	// as if they were silent.
	LogBytes  int64
	StoreRows int
	Began     time.Time    // start time in the names of sources; zero means now
	Logger    *slog.Logger // nil means slog.Default
}

// The UDP ports at which frames have reports of drops.
const (
	portIPFIX = 4739
	portSFlow = 6343
)

// kinds holds the kinds of events that are joined, in one partition each.
var kinds = [...]result.Kind{result.Stamps, result.Records, result.Drops}

// idle is the interval at which a worker without new messages makes rows of what it has.
const idle = 100 * time.Millisecond

// A Collector runs from Start to Close.
type Collector struct {
	config Config
	log    *countedLog
	store  *result.Memory

	joins   context.Context // context of the workers; it ends when one fails
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu     sync.Mutex // guards the following fields
	names  map[string]int
	failed []error
}

// Start starts a collector, which joins until Close.
func Start(c Config) *Collector {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Began.IsZero() {
		c.Began = time.Now()
	}
	k := &Collector{config: c, log: newCountedLog(c.LogBytes), store: result.NewMemory(c.StoreRows),
		names: map[string]int{}}
	k.joins, k.stop = context.WithCancel(context.Background())
	for _, kind := range kinds {
		k.workers.Go(func() {
			w := join.Worker{Log: k.log, Store: k.store, Options: c.Join, Logger: c.Logger, Idle: idle}
			if err := w.Run(k.joins, kind.Partition(0)); err != nil {
				k.note(err)
				k.stop()
			}
		})
	}
	return k
}

// sender returns a new source of the log. A name that was used before gets a number as suffix.
func (k *Collector) sender(name string, kind result.Kind) (*ingest.Sender, error) {
	full := event.Name(name, k.config.Began)
	key := kind.String() + "/" + full
	k.mu.Lock()
	k.names[key]++
	if n := k.names[key]; n > 1 {
		full += fmt.Sprintf("-%d", n)
	}
	k.mu.Unlock()
	return ingest.NewSender(k.log, kind, ingest.Options{Source: full})
}

// tap returns a tap for the frames of a source, and its senders.
func (k *Collector) tap(name string) (*ingest.Tap, []*ingest.Sender, error) {
	stamps, err := k.sender(name, result.Stamps)
	if err != nil {
		return nil, nil, err
	}
	drops, err := k.sender(name, result.Drops)
	if err != nil {
		return nil, nil, err
	}
	t := &ingest.Tap{Stamps: stamps, Reports: ingest.NewReports(drops, k.config.Names), IPFIX: portIPFIX, SFlow: portSFlow}
	if k.config.Join.Topology == nil {
		return t, []*ingest.Sender{stamps, drops}, nil
	}
	copies, err := k.sender(name, result.Records)
	if err != nil {
		return nil, nil, err
	}
	t.Records = ingest.NewRecords(copies)
	return t, []*ingest.Sender{stamps, drops, copies}, nil
}

// ReadCaptures reads captures as one source with a name, to their ends or to where they are damaged. It waits until
// their events are joined. Events of times that are closed already have rows with a flag.
func (k *Collector) ReadCaptures(ctx context.Context, name string, paths ...string) error {
	tap, senders, err := k.tap(name)
	if err != nil {
		return err
	}
	err = ingest.ReadCaptures(ctx, tap, paths...)
	for _, s := range senders {
		err = errors.Join(err, s.Close(ctx))
	}
	return errors.Join(err, k.joined(ctx))
}

// joined waits until all messages of the log are joined.
func (k *Collector) joined(ctx context.Context) error {
	tick := time.NewTicker(idle / 10)
	defer tick.Stop()
	for _, kind := range kinds {
		last := k.log.last(kind.Partition(0))
		for {
			at, err := k.store.Last(ctx, kind.Partition(0))
			if err != nil {
				return err
			}
			if at.Last >= last {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			case <-k.joins.Done():
				return errors.New("nothing is joined any more: the collector has ended")
			}
		}
	}
	return nil
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

// Store returns the store of the rows.
func (k *Collector) Store() result.Store { return k.store }

// Close waits until everything that was read is joined, and returns the errors since Start. The store can still be
// read.
func (k *Collector) Close() error {
	if k.joins.Err() == nil {
		k.note(k.joined(k.joins))
	}
	k.stop()
	k.workers.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return errors.Join(k.failed...)
}
