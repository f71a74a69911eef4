package orchtest

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
)

// A Poller stands for syncd, which reads counters of objects into COUNTERS_DB. A step fails after a wrong request: to
// read an object that is not in the ASIC or that is read already, or to stop reading one that is not read.
type Poller struct {
	Groups map[string]Group // settings of each group, by name
	Lax    bool             // true if all requests are accepted, because the ASIC is not the fake one

	fake     *saitest.Fake
	polled   map[polled]bool
	failures []string
}

// A Group holds the settings of a group of counters.
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

// StartPoll starts reading objects.
func (p *Poller) StartPoll(_ context.Context, group, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, true)
	}
	return nil
}

// StopPoll stops reading objects.
func (p *Poller) StopPoll(_ context.Context, group string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, false)
	}
	return nil
}

// Public implements [orch.Poller]. Objects have only one id.
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

// Count returns the number of objects of a group that are read. "" means all groups.
func (p *Poller) Count(group string) (n int) {
	for x := range p.polled {
		if group == "" || x.group == group {
			n++
		}
	}
	return n
}
