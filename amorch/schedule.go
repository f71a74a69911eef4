package amorch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A flip is a session of step marking on a switch that cannot match time. Its initiator has two entries that set the
// DSCP: the entry of colour 1 is above that of colour 0. At the begin of each period, one SAI call enables or disables
// the upper entry. So every packet is marked and counted with the same colour, but the change of colour is as late as
// orchagent is. The other points distinguish the colours by DSCP, and switch nothing.
type flip struct {
	base  uint8     // DSCP of the flow's packets, without the mark
	due   time.Time // time of the next switch-over; zero if there is none yet
	next  uint64    // number of the period that begins with the next switch-over
	late  [4]time.Duration
	lates [4]uint64 // number of the period of each value in late
	worst time.Duration
	n     int // number of switch-overs
}

// timing returns a text about the accuracy of the colour changes.
func (f *flip) timing(role altmark.Role) string {
	if role != altmark.Initiator {
		return "read by orchestrator; packets out of window are not seen, nor frames that the chip was given late"
	}
	if f.n == 0 {
		return "switched by orchestrator; not measured yet; packets that come marked are not seen"
	}
	return fmt.Sprintf("switched by orchestrator, at most %v late so far; packets that come marked are not seen", f.worst)
}

// note records that the colour is that of period k from now on. k is the last period whose switch-over was due.
func (f *flip) note(n altmark.Interval, k uint64, now time.Time) {
	first := f.next
	if ring := uint64(len(f.late)); k >= ring {
		first = max(first, k-ring+1)
	}
	for p := first; p <= k; p++ {
		late := now.Sub(n.Start(p).Std())
		f.late[f.n%len(f.late)], f.lates[f.n%len(f.lates)] = late, p
		f.n++
		f.worst = max(f.worst, late)
	}
}

// flags returns the flags of period k. The period is uncertain if its begin, its end, or the begin of the previous
// period was too late for the guard. Packets of the previous period then have k's colour, and packets after the reading
// of the colour count in k. The same is true of packets that arrive at another point after its reading in the middle of
// a period: they are late by the switch-over and by the guard.
func (f *flip) flags(s altmark.Session, k uint64) (flags altmark.Flags) {
	most := min(s.Guard(), s.Interval.Duration()/2-s.Guard())
	for i, at := range f.lates[:min(f.n, len(f.lates))] {
		if (at+1 == k || at == k || at == k+1) && f.late[i] > most {
			flags |= altmark.OutOfWindow
		}
	}
	return flags
}

// canSchedule returns the reason why orchagent cannot switch the colour of a session. It returns nil if it can.
func (o *Orch) canSchedule(row schema.AltMarkFlow) error {
	const only = "the switch cannot match time, so orchestrator switches colours: "
	bit := row.Mark.DSCPBit()
	switch {
	case row.Method != altmark.Step:
		return fmt.Errorf(only+"method is %s, want step", row.Method)
	case row.Foreign != altmark.CountForeign:
		return fmt.Errorf(only+"foreign-marks is %s, want count: the flow group matches no packet that comes marked",
			row.Foreign)
	case row.FlowMonID.Given:
		return fmt.Errorf(only+"flow-mon-id is %s, want none", row.FlowMonID)
	case row.MeanDelay:
		return errors.New(only + "mean-delay is true, want false: counters of ACLs sum up no times")
	case bit == 0:
		return fmt.Errorf(only+"mark is %s, want dscp0 to dscp5", row.Mark)
	}
	if err := o.rules.Usable(row.Rule); err != nil {
		return err
	}
	base, ok := o.dscp(row.Rule)
	switch {
	case !ok:
		return fmt.Errorf(only+"it sets the whole DSCP, and flow group %s does not say which: "+
			"want a rule that matches one DSCP exactly", row.Rule.Rule)
	case base&bit != 0:
		return fmt.Errorf(only+"flow group %s has DSCP %d, want one without %s", row.Rule.Rule, base, row.Mark)
	}
	return nil
}

// dscp returns the DSCP that a rule matches. It returns false if the rule does not match exactly one DSCP.
func (o *Orch) dscp(rule schema.ACLRuleKey) (uint8, bool) {
	f, ok := o.rules.MatchOf(rule, sai.ACLEntryAttrFieldDSCP)
	data, isData := f.Data.(sai.Uint)
	mask, isMask := f.Mask.(sai.Uint)
	return uint8(data), ok && isData && isMask && mask&0x3f == 0x3f
}

// base returns the DSCP of a flow whose colours orchagent can switch.
func (o *Orch) base(rule schema.ACLRuleKey) uint8 {
	dscp, _ := o.dscp(rule)
	return dscp
}

// scheduled returns the entries of a session whose flow has the DSCP base.
func scheduled(row schema.AltMarkFlow, base uint8) []orch.ACLVariant {
	list := make([]orch.ACLVariant, len(colours))
	for colour := range list {
		v := orch.ACLVariant{Name: colours[colour]}
		dscp := base
		if colour == 1 {
			dscp |= row.Mark.DSCPBit()
		}
		set := []sai.Attr{{ID: sai.ACLEntryAttrActionSetDSCP, Value: sai.Do(sai.Uint(dscp))}}
		if row.Role == altmark.Initiator {
			v.Actions = set
			if colour == 1 {
				v.Raise, v.Inactive = 1, true
			}
		} else {
			v.Match = []sai.Attr{{ID: sai.ACLEntryAttrFieldDSCP, Value: sai.Match(sai.Uint(dscp), sai.Uint(0x3f))}}
			if row.Clear {
				v.Actions = []sai.Attr{{ID: sai.ACLEntryAttrActionSetDSCP, Value: sai.Do(sai.Uint(base))}}
			}
		}
		list[colour] = v
	}
	return list
}

// flipping returns the bound sessions whose colour orchagent switches, in order.
func (o *Orch) flipping() []*session {
	if o.engine != schema.AltMarkByOrchestrator {
		return nil
	}
	var list []*session
	for _, c := range o.classes {
		for s := range maps.Values(c.sessions) {
			if s.RowInASIC.Role == altmark.Initiator {
				list = append(list, s)
			}
		}
	}
	slices.SortFunc(list, (*session).Compare)
	return list
}

// nextFlip returns the time of the next switch-over; zero if there is none.
func (o *Orch) nextFlip() (next time.Time) {
	for _, s := range o.flipping() {
		if f := s.InASIC.flip; f.due.IsZero() {
			return o.Daemon.Now()
		} else if next.IsZero() || f.due.Before(next) {
			next = f.due
		}
	}
	return next
}

// flipDue changes the colour of the sessions for which a new period has begun.
func (o *Orch) flipDue(ctx context.Context, now time.Time) {
	for _, s := range o.flipping() {
		f, n := s.InASIC.flip, s.RowInASIC.Interval
		if now.Before(f.due) {
			continue
		}
		k := n.Period(altmark.At(o.Daemon.Clock()))
		err := o.rules.SetVariantActive(ctx, s.RowInASIC.Rule, featureName, colours[1], k&1 == 1)
		done := o.Daemon.Clock()
		if err != nil {
			o.Log.Error("a colour was not switched", "session", s.Name, "period", k, "err", err)
			done = n.Start(k + 1).Std() // the whole period had the colour of the previous period
		}
		if !f.due.IsZero() {
			f.note(n, k, done)
		}
		f.next = k + 1
		f.due = n.Start(k + 1).Std()
	}
}

// readScheduled reads the ACL counters of sessions. The counters of the last period's colour no longer change.
func (o *Orch) readScheduled(ctx context.Context, c *class, sessions []*session) error {
	var errs []error
	for _, s := range sessions {
		var r altmark.ChipFlow
		var err error
		at := o.Daemon.Clock()
		for colour, name := range colours {
			oid, _, ok := o.rules.VariantCounter(s.RowInASIC.Rule, featureName, name)
			r.Generation = r.Generation<<32 | uint64(oid)&(1<<32-1)
			if !ok { // the other colour alone would look like a loss
				err = fmt.Errorf("the entry of colour %s is not in the ASIC", name)
			} else {
				r.Of[colour].Packets, r.Of[colour].Bytes, err = o.readCounter(ctx, oid)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("read the counters of session %s: %w", s.Name, err))
				r.Generation = 0
				break
			}
		}
		o.noteRead(ctx, s, altmark.ChipClock{}, err)
		if r.Generation != 0 {
			o.addReading(s, altmark.ChipClock{At: altmark.At(at), Synchronised: true}, r)
		}
	}
	o.skew = 0
	c.due = o.aim(c.interval, altmark.At(o.Daemon.Clock()))
	return errors.Join(errs...)
}

func (o *Orch) readCounter(ctx context.Context, oid sai.OID) (packets, octets uint64, err error) {
	got, err := o.SAI.Get(ctx, sai.Obj(sai.ObjectTypeACLCounter, oid), []sai.Attr{
		sai.Want(sai.ACLCounterAttrPackets, 0), sai.Want(sai.ACLCounterAttrBytes, 0),
	})
	if err != nil {
		return 0, 0, err
	}
	p, _ := sai.Find(got, sai.ACLCounterAttrPackets)
	b, _ := sai.Find(got, sai.ACLCounterAttrBytes)
	np, ok := p.(sai.Uint)
	nb, ok2 := b.(sai.Uint)
	if !ok || !ok2 {
		return 0, 0, errors.New("the counter has no packets or bytes")
	}
	return uint64(np), uint64(nb), nil
}
