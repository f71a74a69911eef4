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

// stream is what the chip calls the messages from a port to a collector.
func stream(t target, port uint16) string {
	return schema.DropStream(netip.AddrPortFrom(t.from, port), t.to)
}

// read reads what became of the sessions' drops.
func (o *Orch) read(ctx context.Context) error {
	var sessions []*session
	news := false // of what the host makes of them
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
		if *c.Unsendable += errors; s.InASIC.gap() {
			c.Unsendable, c.Lost = nil, nil
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
func (o *Orch) count(session string, c schema.DropMonitorCounters) {
	c.Since = o.Daemon.TimeOfDay()
	if row := o.counters.Get(session); row != nil {
		before, err := schema.ParseDropMonitorCounters(session, row)
		if err == nil && !before.Since.IsZero() && c.Continues(&before) {
			if c.Since = before.Since; before.Messages != nil && before.Lost == nil { // there was a gap, maybe unseen here
				c.Unsendable, c.Lost = nil, nil
			}
		} else {
			o.counters.Anew(session)
		}
	}
	o.counters.Put(session, c.Fields())
}

// ask returns the words of streams.
func (o *Orch) ask(ctx context.Context, streams []string) ([][]uint64, error) {
	defer o.Windows.Close(ctx)
	return o.Windows.Words(ctx, feature.Counted{
		Name: dropreport.ObjectReports, Labels: dropreport.AttrStreams, Counters: dropreport.AttrCounters,
		Words: dropreport.NumWords,
	}, streams)
}

// countersOf adds up the streams of a session. What is of its event is the same in each.
func countersOf(streams [][]uint64) (c schema.DropMonitorCounters) {
	event := streams[0]
	var messages, unsendable, lost uint64
	for _, w := range streams {
		messages += w[dropreport.WordSent]
		unsendable += w[dropreport.WordNotSendable]
		lost += w[dropreport.WordLost]
	}
	flows := event[dropreport.WordFlowsBegun] - event[dropreport.WordFlowsEnded]
	return schema.DropMonitorCounters{
		Dropped: &event[dropreport.WordDrops], Trapped: &event[dropreport.WordPunted],
		Reports: &event[dropreport.WordReports], Messages: &messages,
		Suppressed: &event[dropreport.WordRateLimited], SampledOut: &event[dropreport.WordSampledOut],
		Unsendable: &unsendable, Lost: &lost,
		Evicted: &event[dropreport.WordFlowsEvicted], Flows: &flows,
	}
}
