package dropmonitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"tamtam/orch/feature"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

func (o *Orch) monitors() bool {
	if !o.Running || !o.counts {
		return false
	}
	for _, s := range o.Sessions {
		if s.InASIC != nil {
			return true
		}
	}
	return false
}

func (o *Orch) read(ctx context.Context, now time.Time) error {
	if !o.reading.Due(now) {
		return nil
	}
	return o.PollCounters(ctx)
}

// PollCounters reads what became of the sessions' drops now.
func (o *Orch) PollCounters(ctx context.Context) error {
	if !o.reading.Begin() {
		return nil
	}
	if err := o.readSessions(ctx); errors.Is(err, swss.ErrUnavailable) {
		return err
	} else if err != nil {
		o.Log.Error("drop monitor", "err", err)
	}
	return o.Flush(ctx)
}

// stream is what the chip calls the messages from a port to a collector.
func stream(t target, port uint16) string {
	return schema.DropStream(netip.AddrPortFrom(t.from, port), t.to)
}

func (o *Orch) readSessions(ctx context.Context) error {
	var sessions []*session
	news := false // of what the host makes of them
	for _, name := range slices.SortedFunc(maps.Keys(o.Sessions), schema.CompareNames) {
		if s := o.Sessions[name]; s.InASIC != nil && !s.InASIC.leaving {
			sessions = append(sessions, s)
		}
	}
	for _, s := range sessions {
		var streams []string
		for _, t := range s.InASIC.plan.targets {
			streams = append(streams, stream(t, s.InASIC.plan.port))
		}
		words, err := o.ask(ctx, streams)
		if err != nil {
			return err
		}
		c := countersOf(words)
		before := s.InASIC.wrong()
		errors, err := o.askHosts(ctx, s.InASIC, streams, words)
		if err != nil {
			return err
		}
		if c.Counts[schema.CountUnsendable] += errors; s.InASIC.gap() {
			c.Gap()
		}
		news = news || !slices.Equal(before, s.InASIC.wrong())
		o.count(s.Name, c)
	}
	if news {
		o.lookAgain(ctx)
	}
	return nil
}

// count notes the counters of a session. Where they are less than before, they have begun anew: the session came into
// the ASIC again, maybe while nobody was here to see it.
func (o *Orch) count(session string, c schema.Counters) {
	was := o.counters.Get(session)
	if !c.Resume(o.counters.Table, session, was, o.Daemon.TimeOfDay()) && was != nil {
		o.counters.Anew(session)
	}
	o.counters.Put(session, c.Fields())
}

// ask returns the words of streams.
func (o *Orch) ask(ctx context.Context, streams []string) ([][]uint64, error) {
	defer o.Windows.Close(ctx)
	values, err := o.Windows.Ask(ctx, dropreport.ObjectReports, dropreport.AttrStreams, streams, 512+256*len(streams))
	if err != nil {
		return nil, err
	}
	words, err := feature.Value[[]uint64](values, dropreport.AttrCounters)
	if err != nil {
		return nil, err
	}
	if len(words) != dropreport.NumWords*len(streams) {
		return nil, fmt.Errorf("the window returned %d counters, want %d for %d streams", len(words),
			dropreport.NumWords*len(streams), len(streams))
	}
	return slices.Collect(slices.Chunk(words, dropreport.NumWords)), nil
}

// countersOf adds up the streams of a session. What is of its event is the same in each.
func countersOf(streams [][]uint64) schema.Counters {
	event, c := streams[0], schema.Counters{Counts: map[string]uint64{}}
	for _, f := range schema.CountersIn(schema.CountersDropMonitor) {
		switch {
		case f.Name == schema.FieldSinceAll:
		case f.Name == schema.CountFlows:
			c.Counts[f.Name] = event[dropreport.WordFlowsBegun] - event[dropreport.WordFlowsEnded]
		case f.Word < dropreport.WordSent:
			c.Counts[f.Name] = event[f.Word]
		default:
			for _, w := range streams {
				c.Counts[f.Name] += w[f.Word]
			}
		}
	}
	return c
}
