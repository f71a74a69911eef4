package dropmonitor

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"tamtam/orch/feature"
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

// stream returns the chip's name of the messages from a port to a collector.
func stream(t target, port uint16) string {
	return schema.DropStream(netip.AddrPortFrom(t.from, port), t.to)
}

// read reads the counters of the sessions' drops, and the state of the streams that the host sends. If a problem with a
// stream began or ended, all sessions are handled again.
func (o *Orch) read(ctx context.Context) error {
	var sessions []*session
	news := false // whether a problem with sending by the host has changed
	for _, name := range slices.SortedFunc(maps.Keys(o.Sessions), schema.CompareNames) {
		if s := o.Sessions[name]; s.InASIC != nil && !s.Leaving {
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

// count records the counters of a session. If a count is less than before, the counters have restarted because the
// session was created again, possibly while orchagent was not running.
func (o *Orch) count(session string, c schema.Counters) {
	was := o.counters.Get(session)
	if !c.Resume(o.counters.Table, session, was, o.Daemon.TimeOfDay()) && was != nil {
		o.counters.Restart(session)
	}
	o.counters.Put(session, c.Fields())
}

// ask returns the counter words of streams.
func (o *Orch) ask(ctx context.Context, streams []string) ([][]uint64, error) {
	defer o.Windows.Close(ctx)
	return o.Windows.Words(ctx, feature.Counted{
		Name: dropreport.ObjectReports, Labels: dropreport.AttrStreams, Counters: dropreport.AttrCounters,
		Words: dropreport.NumWords,
	}, streams)
}

// countersOf returns the sum of the streams of a session. Counters of the event are the same in each stream.
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
