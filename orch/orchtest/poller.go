package orchtest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
)

// A Poller stands for syncd, which reads counters of objects into COUNTERS_DB. A step fails if the
// poller was asked to read an object that is not in the ASIC, or that it reads already, or to stop
// reading one that it does not read.
type Poller struct {
	Groups map[string]Group // settings, by name
	Lax    bool             // accepts everything: the ASIC is not the fake one

	fake     *saitest.Fake
	polled   map[polled]bool
	failures []string
}

// A Group is the settings of a group of counters.
type Group struct {
	Interval time.Duration
	Enabled  bool
}

type polled struct {
	group string
	oid   sai.OID
}

func (x polled) compare(y polled) int {
	return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.oid, y.oid))
}

// SetGroup sets the settings of a group.
func (p *Poller) SetGroup(_ context.Context, group string, interval time.Duration, enabled bool) error {
	p.Groups[group] = Group{interval, enabled}
	return nil
}

// StartPoll adds objects to those that are read.
func (p *Poller) StartPoll(_ context.Context, group, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, true)
	}
	return nil
}

// StopPoll removes objects from those that are read.
func (p *Poller) StopPoll(_ context.Context, group string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, false)
	}
	return nil
}

// Public implements [orch.Poller]: objects have one id.
func (p *Poller) Public(o sai.OID) (sai.OID, bool) { return o, true }

func (p *Poller) turn(x polled, on bool) {
	if !p.Lax && (p.fake.Attrs(keyOf(x.oid)) == nil || p.polled[x] == on) {
		p.failures = append(p.failures, fmt.Sprintf("%s of %s, on %v", x.oid, x.group, on))
	}
	if on {
		p.polled[x] = true
	} else {
		delete(p.polled, x)
	}
}

// Polls reports whether an object is read, in any group.
func (p *Poller) Polls(oid sai.OID) bool {
	for x := range p.polled {
		if x.oid == oid {
			return true
		}
	}
	return false
}

// Count returns how many objects of a group are read; of all groups if it is "".
func (p *Poller) Count(group string) (n int) {
	for x := range p.polled {
		if group == "" || x.group == group {
			n++
		}
	}
	return n
}
