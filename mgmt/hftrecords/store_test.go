package hftrecords_test

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/mgmt/hftrecords"
	"tamtam/mgmt/hftrecords/hfttest"
)

// text returns records as lines.
func text(blocks []hftrecords.Block) string {
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

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%swant\n%s", what, got, want)
	}
}

func rest(f *hftrecords.Follower, name string) string {
	all, _ := f.Next(name)
	return text(all)
}

// Followers get each record of each group once, with the time at which the chip sampled it. Other readers get the last
// record, or those since a time.
func TestFollow(t *testing.T) {
	c := hfttest.New(t)
	web, db := c.Start("web|PORT", "Ethernet0"), c.Start("db|PORT", "Ethernet4")
	web.Sample(10, 1, 2)
	db.Sample(15, 7, 8)
	web.Sample(20, 3, 4)
	from, next := c.Store.Follow(true, make(chan struct{}, 1)), c.Store.Follow(false, make(chan struct{}, 1))
	web.Sample(30, 5, 6)
	const second, third = "20 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n",
		"30 Ethernet0.IF_IN_OCTETS=5 Ethernet0.IF_OUT_OCTETS=6\n"
	want(t, "a follower from the last record on", rest(from, "web|PORT"), second+third)
	want(t, "the other group", rest(from, "db|PORT"), "15 Ethernet4.IF_IN_OCTETS=7 Ethernet4.IF_OUT_OCTETS=8\n")
	want(t, "a follower from the next record on", rest(next, "web|PORT"), third)
	want(t, "the same record", rest(next, "web|PORT"), "")
	want(t, "the last record", text(c.Store.Last("web|PORT")), third)
	want(t, "records since 15", text(c.Store.Since("web|PORT", 15, 10)), second+third)
	want(t, "the last of these", text(c.Store.Since("web|PORT", 15, 1)), third)
	want(t, "groups", fmt.Sprint(c.Store.Groups()), "[db|PORT web|PORT]")
	want(t, "counts", fmt.Sprint(c.Store.Counts("web|PORT")), "{3 0}")
	want(t, "counts of no group", fmt.Sprint(c.Store.Counts("no|PORT"), c.Store.Last("no|PORT")), "{0 0} []")
}

// A group that changes while it streams has records of both layouts, none lost. The session is there before the first
// record of the new one, and other groups may start in between.
func TestChange(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0")
	web.Sample(10, 1, 2)
	f := c.Store.Follow(true, make(chan struct{}, 1))
	web.Prepare("Ethernet4", "Ethernet8")
	c.Start("db|PORT", "Ethernet0").Sample(12, 0, 0) // all sessions are read
	web.Sample(20, 3, 4)
	web.Switch()
	web.Sample(30, 5, 6, 7, 8)
	want(t, "records", rest(f, "web|PORT"), "10 Ethernet0.IF_IN_OCTETS=1 Ethernet0.IF_OUT_OCTETS=2\n"+
		"20 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n"+
		"30 Ethernet4.IF_IN_OCTETS=5 Ethernet4.IF_OUT_OCTETS=6 Ethernet8.IF_IN_OCTETS=7 Ethernet8.IF_OUT_OCTETS=8\n")
}

// A chip that was started again uses the same numbers for other statistics.
func TestRestart(t *testing.T) {
	c := hfttest.New(t)
	c.Start("web|PORT", "Ethernet0").Sample(10, 1, 2)
	f := c.Store.Follow(true, make(chan struct{}, 1))
	c.Restart()
	c.Start("db|PORT", "Ethernet4").Sample(20, 3, 4)
	if all, _ := f.Next("web|PORT"); len(all) > 0 {
		t.Errorf("records %s of a group that is gone", text(all))
	}
	want(t, "records", rest(f, "db|PORT"), "20 Ethernet4.IF_IN_OCTETS=3 Ethernet4.IF_OUT_OCTETS=4\n")
}

// The memory is bounded. A follower that is too slow learns how many records it missed, and the group counts them.
func TestSlowFollower(t *testing.T) {
	c := hfttest.New(t)
	c.Store.Limit(3 * hftrecords.BlockRecords * 3) // three blocks of records with two values and a time
	web := c.Start("web|PORT", "Ethernet0")
	f := c.Store.Follow(true, make(chan struct{}, 1))
	const records = 10 * hftrecords.BlockRecords
	for i := range int64(records) {
		web.Sample(10*(i+1), uint64(i), 0)
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
	counts := c.Store.Counts("web|PORT")
	if uint64(n)+missed != records || missed == 0 || n < hftrecords.BlockRecords || next != 10*(records+1) ||
		counts != (hftrecords.Counts{records, missed}) {
		t.Errorf("%d records and %d missed, counts %+v; want %d together", n, missed, counts, records)
	}
}

// Without a reader, messages wait until there is one: at most so many bytes of them. They are decoded by the templates
// that they were sent with.
func TestUnread(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0")
	web.Sample(10, 1, 2)
	web.Change("Ethernet4")
	web.Sample(20, 3, 4)
	want(t, "records", text(c.Store.Since("web|PORT", 0, 10)), "10 Ethernet0.IF_IN_OCTETS=1 Ethernet0.IF_OUT_OCTETS=2\n"+
		"20 Ethernet4.IF_IN_OCTETS=3 Ethernet4.IF_OUT_OCTETS=4\n")
	for i := range int64(hftrecords.MaxPending / 40) {
		web.Sample(30+i, 0, 0)
	}
	if c.Store.Waiting() > hftrecords.MaxPending {
		t.Errorf("%d bytes wait, want at most %d", c.Store.Waiting(), hftrecords.MaxPending)
	}
}

// A message without a session is counted. Sessions are not read again for each of such messages.
func TestNoSession(t *testing.T) {
	c := hfttest.New(t)
	web := c.Start("web|PORT", "Ethernet0")
	delete(c.Sessions, "web|PORT")
	for i := range int64(100) {
		web.Sample(10*i, 1, 2)
	}
	c.Store.Add(t.Context(), []byte("no message"))
	if c.Store.Unknown() != 101 || c.Reads != 1 {
		t.Errorf("%d messages are unknown, sessions were read %d times; want 101 and 1", c.Store.Unknown(), c.Reads)
	}
	c.Now = c.Now.Add(hftrecords.RetryAfter)
	c.Start("web|PORT", "Ethernet0").Sample(2000, 3, 4)
	want(t, "the last record", text(c.Store.Last("web|PORT")), "2000 Ethernet0.IF_IN_OCTETS=3 Ethernet0.IF_OUT_OCTETS=4\n")
}

// A record of more statistics than a message has room for comes in parts, which share its time.
func TestParts(t *testing.T) {
	c := hfttest.New(t)
	ports := make([]string, 5000)
	for i := range ports {
		ports[i] = fmt.Sprint("Ethernet", i)
	}
	web := c.Start("web|PORT", ports...)
	values := make([]uint64, 10_000)
	for i := range values {
		values[i] = uint64(i)
	}
	web.Sample(10, values...)
	web.Sample(20, values...)
	all, _ := c.Store.Follow(true, make(chan struct{}, 1)).Next("web|PORT")
	for _, blocks := range [][]hftrecords.Block{all, c.Store.Last("web|PORT")} {
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
