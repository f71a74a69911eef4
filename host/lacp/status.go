package lacp

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Status is the state of a port of an aggregation.
type Status struct {
	Aggregate, Name string
	Incarnation     string // incarnation of the member, as configured
	Actor, Partner  Info
	Receiver        Receiver
	Mux             Mux
	Selected        bool
	Fallback        bool // true if it carries traffic without a partner
	Up              bool
	// ActorChurned and PartnerChurned report that the actor, or the partner, has been out of sync for a minute, 6.4.17.
	ActorChurned, PartnerChurned bool
	// Reason explains why the port does not carry traffic; "" means that it does.
	Reason string
	Counts Counts
}

// Statuses returns the states of all ports, by aggregation and number of the port.
func (a *Agent) Statuses(now time.Time) (list []Status) {
	for _, name := range slices.Sorted(maps.Keys(a.aggregates)) {
		for _, p := range a.aggregates[name].ports {
			s := Status{
				Aggregate: name, Name: p.Name, Incarnation: p.Incarnation, Actor: p.actor(), Partner: p.partner,
				Receiver: p.receiver, Mux: p.mux, Selected: p.selected,
				Fallback: p.fallback, Up: p.Up, Reason: p.reason(), Counts: p.counts,
				ActorChurned:   churned(now, p.actorOut),
				PartnerChurned: churned(now, p.partnerOut),
			}
			s.Counts.Discarded = maps.Clone(p.counts.Discarded)
			list = append(list, s)
		}
	}
	return list
}

// Nowhere returns the number of frames at ports that are in no aggregation.
func (a *Agent) Nowhere() uint64 { return a.nowhere }

func churned(now, since time.Time) bool { return !since.IsZero() && now.Sub(since) >= ChurnTime }

// reason explains why a port does not carry traffic, "" if it does.
func (p *port) reason() string {
	switch {
	case !p.of.Up:
		return fmt.Sprintf("%s is down by configuration", p.of.Name)
	case !p.Up:
		return "the port is down"
	case p.mux == MuxDistributing:
		return ""
	case p.receiver < ReceiverCurrent && !p.fallback:
		return p.unheard()
	case !p.selected:
		return p.unselected()
	case p.mux <= MuxWaiting:
		return fmt.Sprintf("waits up to %v for others to be aggregated with", AggregateWait)
	case p.mux == MuxAttached:
		return fmt.Sprintf("partner %s is not in sync", p.partner.System)
	case !p.collects:
		return "the switch does not collect yet"
	}
	return fmt.Sprintf("partner %s does not collect", p.partner.System)
}

// unheard describes a missing partner.
func (p *port) unheard() string {
	switch {
	case p.receiver == ReceiverDefaulted:
		return "no LACPDU has come in"
	case p.partner.System == (System{}):
		return "no LACPDU has come in yet"
	}
	return fmt.Sprintf("nothing more was heard of partner %s", p.partner.System)
}

// unselected explains why a port with a partner is not selected.
func (p *port) unselected() string {
	who := p.partner.System
	switch {
	case who == p.of.System:
		return "the partner is this switch itself"
	case p.group() == p.of.partner:
		return fmt.Sprintf("partner %s aggregates no ports", who)
	case p.Speed != p.of.partner.speed && p.of.partner != (group{}):
		return fmt.Sprintf("the port has %d Mb/s, and those that %s aggregates %d", p.Speed, p.of.Name, p.of.partner.speed)
	}
	return fmt.Sprintf("partner %s with key %d is not that of %s, %s with key %d",
		who, p.partner.Key, p.of.Name, p.of.partner.system, p.of.partner.key)
}
