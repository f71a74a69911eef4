// Package hfttest streams records to a store, for tests.
//
// What belongs here: that chip. Tests are in the packages that they test.
package hfttest

import (
	"context"
	"slices"
	"testing"
	"time"

	"tamtam/mgmt/hftrecords"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
)

// SAI's numbers of SAI_OBJECT_TYPE_PORT, SAI_PORT_STAT_IF_IN_OCTETS and SAI_PORT_STAT_IF_OUT_OCTETS.
const (
	ofPort    = 1
	inOctets  = 0
	outOctets = 9
)

// A Chip is what streams to a store: encoders, and the sessions that orchagent writes for them.
type Chip struct {
	testing.TB
	Store    *hftrecords.Store
	Sessions map[string]schema.HFTSession // by group
	Reads    int                          // how often the store has read them
	Now      time.Time                    // of the store
	ids      hft.TemplateIDs
	domain   uint32
}

// New returns a chip without streams, and its store.
func New(t testing.TB) *Chip {
	c := &Chip{TB: t, Now: time.Unix(1_800_000_000, 0)}
	c.Restart()
	c.Store = hftrecords.New(func(context.Context) (map[string]schema.HFTSession, error) {
		c.Reads++
		return c.Sessions, nil
	}, func() time.Time { return c.Now })
	return c
}

// Restart ends all streams. Later ones use the numbers of domains and templates again.
func (c *Chip) Restart() {
	c.Sessions, c.ids, c.domain = map[string]schema.HFTSession{}, hft.TemplateIDs{}, 0
}

// A Group is a stream of IF_IN_OCTETS and IF_OUT_OCTETS of some ports.
type Group struct {
	*Chip
	name   string
	stream *hft.Stream
	labels hft.Labels
}

// Start begins a stream with the first record.
func (c *Chip) Start(name string, ports ...string) *Group {
	c.domain++
	g := &Group{Chip: c, name: name}
	var err error
	g.stream, err = hft.NewStream(hft.Config{Domain: c.domain, Size: 65507, IDs: &c.ids}, func(m hft.Message) {
		c.Store.Add(context.Background(), m.Bytes)
	})
	if err != nil {
		c.Fatal(err)
	}
	g.Change(ports...)
	return g
}

// Prepare writes the session of the group with other ports.
func (g *Group) Prepare(ports ...string) {
	g.Helper()
	var columns []hft.Column
	labels, err := g.labels.Assign(ports)
	if err != nil {
		g.Fatal(err)
	}
	for i, port := range ports {
		for _, id := range []uint32{inOctets, outOctets} {
			columns = append(columns, hft.Column{Object: port,
				Statistic: hft.Statistic{Label: labels[i], Type: ofPort, ID: id}})
		}
	}
	templates, err := g.stream.Prepare(columns)
	if err != nil {
		g.Fatal(err)
	}
	g.Sessions[g.name] = schema.HFTSession{Enabled: true, Objects: ports, Labels: labels,
		Templates: slices.Clone(templates)}
}

// Switch begins to use the ports that were prepared.
func (g *Group) Switch() { g.stream.Switch() }

// Change gives the group other ports.
func (g *Group) Change(ports ...string) {
	g.Helper()
	g.Prepare(ports...)
	g.Switch()
}

// Sample streams a record. at is its time in nanoseconds since 1970.
func (g *Group) Sample(at int64, values ...uint64) {
	g.Helper()
	if err := g.stream.Sample(time.Unix(0, at), at, values); err != nil {
		g.Fatal(err)
	}
	g.stream.Flush()
}
