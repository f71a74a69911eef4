package orchtest

import (
	"context"
	"fmt"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
)

// A Poller stands for syncd, which reads counters of objects into COUNTERS_DB. A step
// fails if it was asked to read what is not in the ASIC, or twice, or to stop reading
// what it does not read.
type Poller struct {
	Groups map[string]Group // settings, by name
	Lax    bool             // takes everything: the ASIC is not the fake one

	fake   *saitest.Fake
	polled map[polled]bool
	wrong  []string
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

// SetGroup notes the settings of a group.
func (p *Poller) SetGroup(_ context.Context, group string, interval time.Duration, enabled bool) error {
	p.Groups[group] = Group{interval, enabled}
	return nil
}

// StartPoll notes what is read from now on.
func (p *Poller) StartPoll(_ context.Context, group, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, true)
	}
	return nil
}

// StopPoll notes what is read no more.
func (p *Poller) StopPoll(_ context.Context, group string, objs ...sai.OID) error {
	for _, o := range objs {
		p.turn(polled{group, o}, false)
	}
	return nil
}

func (p *Poller) turn(x polled, on bool) {
	if !p.Lax && (p.fake.Attrs(keyOf(x.oid)) == nil || p.polled[x] == on) {
		p.wrong = append(p.wrong, fmt.Sprintf("%s of %s, on %v", x.oid, x.group, on))
	}
	if on {
		p.polled[x] = true
	} else {
		delete(p.polled, x)
	}
}

// Polls says whether an object is read, in any group.
func (p *Poller) Polls(oid sai.OID) bool {
	for x := range p.polled {
		if x.oid == oid {
			return true
		}
	}
	return false
}

// Count is how many objects of a group are read; of all groups if it is "".
func (p *Poller) Count(group string) (n int) {
	for x := range p.polled {
		if group == "" || x.group == group {
			n++
		}
	}
	return n
}
