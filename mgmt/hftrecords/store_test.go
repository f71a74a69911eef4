package hftrecords

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
)

// A chip is what streams to a store: its encoders, and the sessions that orchagent writes for them.
type chip struct {
	*testing.T
	*Store
	ids      hft.TemplateIDs
	domain   uint32
	sessions map[string]schema.HFTSession
	reads    int
	now      time.Time
}

func newChip(t *testing.T) *chip {
	c := &chip{T: t, sessions: map[string]schema.HFTSession{}, now: time.Unix(1_800_000_000, 0)}
	c.Store = New(func(context.Context) (map[string]schema.HFTSession, error) {
		c.reads++
		return c.sessions, nil
	}, func() time.Time { return c.now })
	return c
}

// A source is a stream of a group.
type source struct {
	*chip
	name   string
	stream *hft.Stream
	labels hft.Labels
}

func (c *chip) group(name string) *source {
	c.domain++
	s := &source{chip: c, name: name}
	var err error
	s.stream, err = hft.NewStream(hft.Config{Domain: c.domain, Size: 65507, IDs: &c.ids}, func(m hft.Message) {
		c.Add(c.Context(), m.Bytes)
	})
	if err != nil {
		c.Fatal(err)
	}
	return s
}

// prepare writes the session of a group that has IF_IN_OCTETS and IF_OUT_OCTETS of some ports.
func (s *source) prepare(ports ...string) {
	var columns []hft.Column
	labels, err := s.labels.Assign(ports)
	if err != nil {
		s.Fatal(err)
	}
	session := schema.HFTSession{Enabled: true, Objects: ports, Labels: labels}
	for i, port := range ports {
		for _, id := range []sai.StatID{sai.PortStatIfInOctets, sai.PortStatIfOutOctets} {
			columns = append(columns, hft.Column{Object: port, Name: id.String(),
				Statistic: hft.Statistic{Label: labels[i], Type: uint32(sai.ObjectTypePort), ID: uint32(id)}})
		}
	}
	templates, err := s.stream.Prepare(columns)
	if err != nil {
		s.Fatal(err)
	}
	session.Templates = slices.Clone(templates)
	s.sessions[s.name] = session
}

func (s *source) start(ports ...string) *source {
	s.prepare(ports...)
	s.stream.Switch()
	return s
}

// sample sends a record of its own message.
func (s *source) sample(at int64, values ...uint64) {
	if err := s.stream.Sample(time.Unix(0, at), at, values); err != nil {
		s.Fatal(err)
	}
	s.stream.Flush()
}

// text returns records as lines.
func text(blocks []Block) string {
	var b strings.Builder
	for _, x := range blocks {
		for i, at := range x.At {
			fmt.Fprintf(&b, "%d", at)
			for j, v := range x.Record(i) {
				fmt.Fprintf(&b, " %s.%s=%d", x.Columns[j].Object, x.Columns[j].Statistic, v)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (c *chip) want(what, got, want string) {
	c.Helper()
	if got != want {
		c.Errorf("%s:\n%swant\n%s", what, got, want)
	}
}

func (f *Follower) rest(name string) (string, uint64) {
	all, missed := f.Next(name)
	return text(all), missed
}

// Followers get each record of each group once, with the time at which the chip sampled it. Other readers get the last
// record, or those since a time.
func TestFollow(t *testing.T) {
	c := newChip(t)
	web, db := c.group("web|PORT").start("Ethernet0"), c.group("db|PORT").start("Ethernet4")
	web.sample(10, 1, 2)
	db.sample(15, 7, 8)
	web.sample(20, 3, 4)
	from, next := c.Follow(true), c.Follow(false)
	web.sample(30, 5, 6)
	const second, third = "20 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n",
		"30 Ethernet0.IF_IN_OCTETS=5 Ethernet0.IF_OUT_OCTETS=6\n"
	got, _ := from.rest("web|PORT")
	c.want("a follower from the last record on", got, second+third)
	got, _ = from.rest("db|PORT")
	c.want("the other group", got, "15 Ethernet4.IF_IN_OCTETS=7 Ethernet4.IF_OUT_OCTETS=8\n")
	got, _ = next.rest("web|PORT")
	c.want("a follower from the next record on", got, third)
	got, _ = next.rest("web|PORT")
	c.want("the same record", got, "")
	c.want("the last record", text(c.Last("web|PORT")), third)
	c.want("records since 15", text(c.Since("web|PORT", 15, 10)), second+third)
	c.want("the last of these", text(c.Since("web|PORT", 15, 1)), third)
	c.want("groups", fmt.Sprint(c.Groups()), "[db|PORT web|PORT]")
	c.want("counts", fmt.Sprint(c.Counts("web|PORT")), "{3 0}")
	c.want("counts of no group", fmt.Sprint(c.Counts("no|PORT"), c.Last("no|PORT")), "{0 0} []")
}

// A group that changes while it streams has records of both layouts, none lost. The session is there before the first
// record of the new one, and other groups may start in between.
func TestChange(t *testing.T) {
	c := newChip(t)
	web := c.group("web|PORT").start("Ethernet0")
	web.sample(10, 1, 2)
	f := c.Follow(true)
	web.prepare("Ethernet4", "Ethernet8")
	c.group("db|PORT").start("Ethernet0").sample(12, 0, 0) // all sessions are read
	web.sample(20, 3, 4)
	web.stream.Switch()
	web.sample(30, 5, 6, 7, 8)
	got, _ := f.rest("web|PORT")
	c.want("records", got, "10 Ethernet0.IF_IN_OCTETS=1 Ethernet0.IF_OUT_OCTETS=2\n"+
		"20 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n"+
		"30 Ethernet4.IF_IN_OCTETS=5 Ethernet4.IF_OUT_OCTETS=6 Ethernet8.IF_IN_OCTETS=7 Ethernet8.IF_OUT_OCTETS=8\n")
}

// A chip that was started again uses the same numbers for other statistics.
func TestRestart(t *testing.T) {
	c := newChip(t)
	c.group("web|PORT").start("Ethernet0").sample(10, 1, 2)
	f := c.Follow(true)
	c.ids, c.domain = hft.TemplateIDs{}, 0
	clear(c.sessions)
	c.group("db|PORT").start("Ethernet4").sample(20, 3, 4)
	if all, _ := f.Next("web|PORT"); len(all) > 0 {
		t.Errorf("records %s of a group that is gone", text(all))
	}
	got, _ := f.rest("db|PORT")
	c.want("records", got, "20 Ethernet4.IF_IN_OCTETS=3 Ethernet4.IF_OUT_OCTETS=4\n")
}

// The memory is bounded. A follower that is too slow learns how many records it missed, and the group counts them.
func TestSlowFollower(t *testing.T) {
	c := newChip(t)
	c.limit = 3 * blockRecords * 3 // three blocks of records with two values and a time
	web := c.group("web|PORT").start("Ethernet0")
	f := c.Follow(true)
	const records = 10 * blockRecords
	for i := range int64(records) {
		web.sample(10*(i+1), uint64(i), 0)
	}
	n, missed, next := 0, uint64(0), int64(-1)
	for {
		all, m := f.Next("web|PORT")
		if missed += m; len(all) == 0 {
			break
		}
		for _, b := range all {
			for i, at := range b.At {
				if next >= 0 && at != next || b.Record(i)[0] != uint64(at/10-1) {
					t.Fatalf("record at %d with %d, want one at %d", at, b.Record(i), next)
				}
				n, next = n+1, at+10
			}
		}
	}
	counts := c.Counts("web|PORT")
	if uint64(n)+missed != records || missed == 0 || n < blockRecords || next != 10*(records+1) ||
		counts != (Counts{records, missed}) {
		t.Errorf("%d records and %d missed, counts %+v; want %d together", n, missed, counts, records)
	}
}

// Without a reader, messages wait until there is one: at most so many bytes of them. They are decoded by the templates
// that they were sent with.
func TestUnread(t *testing.T) {
	c := newChip(t)
	web := c.group("web|PORT").start("Ethernet0")
	web.sample(10, 1, 2)
	web.start("Ethernet4")
	web.sample(20, 3, 4)
	c.want("records", text(c.Since("web|PORT", 0, 10)), "10 Ethernet0.IF_IN_OCTETS=1 Ethernet0.IF_OUT_OCTETS=2\n"+
		"20 Ethernet4.IF_IN_OCTETS=3 Ethernet4.IF_OUT_OCTETS=4\n")
	for i := range int64(maxPending / 40) {
		web.sample(30+i, 0, 0)
	}
	if c.size > maxPending {
		t.Errorf("%d bytes wait, want at most %d", c.size, maxPending)
	}
}

// A message without a session is counted. Sessions are not read again for each of such messages.
func TestNoSession(t *testing.T) {
	c := newChip(t)
	web := c.group("web|PORT").start("Ethernet0")
	delete(c.sessions, "web|PORT")
	for i := range int64(100) {
		web.sample(10*i, 1, 2)
	}
	c.Add(t.Context(), []byte("no message"))
	if c.unknown != 101 || c.reads != 1 {
		t.Errorf("%d messages are unknown, sessions were read %d times; want 101 and 1", c.unknown, c.reads)
	}
	c.now = c.now.Add(retryAfter)
	web.start("Ethernet0").sample(2000, 3, 4)
	c.want("the last record", text(c.Last("web|PORT")), "2000 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n")
}

// A record of more statistics than a message has room for comes in parts, which share its time.
func TestParts(t *testing.T) {
	c := newChip(t)
	ports := make([]string, 5000)
	for i := range ports {
		ports[i] = fmt.Sprint("Ethernet", i)
	}
	web := c.group("web|PORT").start(ports...)
	values := make([]uint64, 10_000)
	for i := range values {
		values[i] = uint64(i)
	}
	web.sample(10, values...)
	web.sample(20, values...)
	all, _ := c.Follow(true).Next("web|PORT")
	for _, blocks := range [][]Block{all, c.Last("web|PORT")} {
		n := uint64(0)
		for _, b := range blocks {
			for i := range b.At {
				for _, v := range b.Record(i) {
					if v != n || b.At[i] != 20 {
						t.Fatalf("value %d at %d, want %d at 20", v, b.At[i], n)
					}
					n++
				}
			}
		}
		if n != 10_000 || len(blocks) != 2 {
			t.Errorf("%d values in %d blocks, want 10000 in 2", n, len(blocks))
		}
	}
}
