package reports

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tamtam/host/cpuport"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config configures a [Sender].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Send sends a datagram by the host's own routes. It must not wait, and must not keep its argument.
	Send func(Datagram) error
}

// MaxStreams is the maximum number of counted streams: more than the chip has collectors. Beyond it, the one that was
// idle for the longest is dropped.
const MaxStreams = 64

// reportPeriod is the interval at which COUNTERS_DB is updated.
const reportPeriod = time.Second

// A Sender sends the reports that the chip passes to the host, and counts them by stream. All its methods run on the
// goroutine of its daemon.
type Sender struct {
	cfg     Config
	log     *slog.Logger
	rows    *forward.OwnRows
	streams map[string]*stream
	clock   uint64 // number of uses
	bad     uint64 // number of invalid frames
}

// A stream is the datagrams from one source to one collector.
type stream struct {
	counts schema.ManagementReports
	used   uint64
}

// New registers a sender on its daemon.
func New(cfg Config) *Sender {
	s := &Sender{
		cfg: cfg, log: cfg.Daemon.Logger(), streams: map[string]*stream{},
		rows: forward.NewOwnRows(cfg.Daemon, cfg.Redis.DB(swss.CountersDB), schema.CountersManagementReports),
	}
	cfg.Daemon.Every(func() time.Duration { return reportPeriod }, func(ctx context.Context, _ time.Time) error {
		return s.report(ctx)
	})
	return s
}

// Receive sends a frame that the chip has passed to the host.
func (s *Sender) Receive(p cpuport.Packet) {
	d, err := Parse(p.Data)
	if err == nil && p.Len != len(p.Data) {
		err = fmt.Errorf("%d bytes of %d", len(p.Data), p.Len)
	}
	if err != nil {
		if s.bad++; s.bad == 1 {
			s.log.Warn("the chip has given a frame to be sent that cannot be", "because", err)
		}
		return
	}
	of := s.stream(schema.DropStream(d.From, d.To))
	if err := s.cfg.Send(d); err != nil {
		of.counts.Errors++
		if of.counts.LastError != err.Error() {
			of.counts.LastError = err.Error()
			s.log.Warn("a report was not sent by the management interface", "to", d.To, "err", err)
		}
		return
	}
	of.counts.Messages++
	of.counts.LastError = ""
}

func (s *Sender) stream(name string) *stream {
	of := s.streams[name]
	if of == nil {
		if len(s.streams) == MaxStreams {
			s.forget()
		}
		of = &stream{}
		s.streams[name] = of
	}
	s.clock++
	of.used = s.clock
	return of
}

func (s *Sender) forget() {
	var quietest string
	for name, of := range s.streams {
		if q := s.streams[quietest]; q == nil || of.used < q.used {
			quietest = name
		}
	}
	delete(s.streams, quietest)
}

// report writes the counters, and removes the rows of an earlier sender.
func (s *Sender) report(ctx context.Context) error {
	want := map[string]swss.FieldValues{}
	for name, of := range s.streams {
		want[name] = of.counts.Fields()
	}
	return s.rows.Write(ctx, want)
}
