package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
)

// A bench holds Rules in front of a chip, with a clock that the test sets.
type bench struct {
	*testing.T
	*Rules
	at   time.Time
	chip sai.API
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, at: time.Unix(1000, 0)}
	b.Rules = NewRules(func() time.Time { return b.at })
	b.chip = b.SAI(saitest.New(saitest.Options{}))
	if _, err := b.chip.Create(t.Context(), sai.ObjectTypeSwitch,
		[]sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) add(f Fault) Injected {
	b.Helper()
	n, err := b.Add(f)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// tables makes n ACL tables one by one and returns those that failed.
func (b *bench) tables(n int) (failed []int) {
	b.Helper()
	for i := range n {
		_, err := b.chip.Create(b.Context(), sai.ObjectTypeACLTable, table())
		if status, ok := sai.StatusOf(err); err != nil && (!ok || status != sai.StatusTableFull) {
			b.Fatal(err)
		}
		if err != nil {
			failed = append(failed, i+1)
		}
	}
	return failed
}

func table() []sai.Attr {
	return []sai.Attr{{ID: sai.ACLTableAttrACLStage, Value: sai.ACLStageIngress}}
}

// SAI calls that match a fault fail, every one or every n-th, until the fault's count or time is reached.
func TestSAIFails(t *testing.T) {
	full := Fault{Kind: SAIFail, Op: sai.OpCreate, Type: sai.ObjectTypeACLTable, Status: sai.StatusTableFull,
		For: time.Minute}
	with := func(count, every int) Fault {
		f := full
		f.Count, f.Every = count, every
		return f
	}
	for _, tt := range []struct {
		fault Fault
		want  []int
	}{
		{full, []int{1, 2, 3, 4, 5, 6}},
		{with(2, 0), []int{1, 2}},
		{with(0, 3), []int{3, 6}},
		{with(1, 2), []int{2}},
	} {
		b := newBench(t)
		b.add(tt.fault)
		if got := b.tables(6); !slices.Equal(got, tt.want) {
			t.Errorf("%s, count %d: %v failed, want %v", tt.fault, tt.fault.Count, got, tt.want)
		}
		if got := b.List()[0]; got.Hits != len(tt.want) || (got.Over != "") != (tt.fault.Count > 0) {
			t.Errorf("%s: %+v", tt.fault, got)
		}
		if _, err := b.chip.Get(t.Context(), sai.Obj(sai.ObjectTypeSwitch, 0), nil); errors.Is(err, sai.StatusTableFull) {
			t.Error("a call fails that the fault does not mean")
		}
		b.at = b.at.Add(time.Minute)
		if got := b.tables(6); got != nil {
			t.Errorf("%s: %v fail when its time is over", tt.fault, got)
		}
	}
}

// In a bulk call, the items that match a fault fail, and do not reach the chip.
func TestSAIFailsInBulk(t *testing.T) {
	b := newBench(t)
	b.add(Fault{Kind: SAIFail, Every: 2, For: time.Minute})
	oids, errs := b.chip.BulkCreate(t.Context(), sai.ObjectTypeACLTable, [][]sai.Attr{table(), table(), table()})
	if errs[0] != nil || !errors.Is(errs[1], sai.StatusFailure) || errs[2] != nil || oids[1] != 0 || oids[0] == oids[2] {
		t.Errorf("%v, %v", oids, errs)
	}
	b.Clear()
	for i, err := range b.chip.BulkRemove(t.Context(), []sai.Key{sai.Obj(sai.ObjectTypeACLTable, oids[0]),
		sai.Obj(sai.ObjectTypeACLTable, oids[2])}) {
		if err != nil {
			t.Error(i, err)
		}
	}
}

// The delays of all matching faults add up; a call whose context has ended returns immediately.
func TestSAIIsLate(t *testing.T) {
	b := newBench(t)
	b.add(Fault{Kind: SAIDelay, Delay: 20 * time.Millisecond, Type: sai.ObjectTypeACLTable, For: time.Minute})
	b.add(Fault{Kind: SAIDelay, Delay: 10 * time.Millisecond, For: time.Minute})
	began := time.Now()
	if b.tables(1); time.Since(began) < 30*time.Millisecond {
		t.Errorf("a call took %v, want 30ms or more", time.Since(began))
	}
	b.add(Fault{Kind: SAIDelay, Delay: MostDelay, For: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.chip.Create(ctx, sai.ObjectTypeACLTable, table()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Messages that match a fault are lost or duplicated.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		fault            Fault
		port, fdb, other int
	}{
		{Fault{Kind: NotificationsLose}, 0, 0, 0},
		{Fault{Kind: NotificationsDouble}, 2, 2, 2},
		{Fault{Kind: NotificationsLose, Of: "fdb_event"}, 1, 0, 1},
		{Fault{Kind: NotificationsDouble, Of: "port_state_change"}, 2, 1, 1},
		{Fault{Kind: NotificationsLose, Of: "ACL_RULE"}, 1, 1, 0},
	} {
		b := newBench(t)
		tt.fault.For = time.Minute
		b.add(tt.fault)
		port, fdb, other := b.Notified(sai.PortState{}), b.Notified(sai.FDBEvent{}), b.Delivered("ACL_RULE_TABLE_CHANNEL@0")
		if port != tt.port || fdb != tt.fdb || other != tt.other {
			t.Errorf("%s: %d, %d and %d times", tt.fault, port, fdb, other)
		}
	}
}

// Faults are reported while they are in force and for a while after, and their number is limited.
func TestReported(t *testing.T) {
	b := newBench(t)
	lost := Fault{Kind: NotificationsLose, For: time.Minute}
	for range mostInjected {
		b.add(lost)
	}
	if _, err := b.Add(lost); err == nil ||
		err.Error() != "fault notifications-lose: there are 64 already, which is the most" {
		t.Error(err)
	}
	if text, since := words(
		b.List()); text != "faults are injected on purpose: notifications are lost, until 1970-01-01T00:17:40Z; "+
		"notifications are lost, until 1970-01-01T00:17:40Z; notifications are lost, until 1970-01-01T00:17:40Z; and 61 "+
		"more" || !since.Equal(b.at) {
		t.Errorf("%s since %v", text, since)
	}
	if n := b.Clear(); n != mostInjected || b.Clear() != 0 {
		t.Errorf("%d ended, and again some", n)
	}
	if text, _ := words(b.List()); text != "" || len(b.List()) != mostInjected || b.List()[0].Over != "cleared" {
		t.Errorf("%q, %+v", text, b.List())
	}
	b.at = b.at.Add(stays + 1)
	if left := b.List(); len(left) != 0 {
		t.Errorf("%d are told for ever", len(left))
	}
	for _, f := range []Fault{{Kind: RedisFull}, {Kind: ClockStep, Step: time.Second}, {Kind: "fire"},
		{Kind: SAIFail, Count: -1}, {Kind: SAIFail, Step: 1}} {
		if n, err := b.Add(f); err == nil {
			t.Errorf("%+v is injected by nobody", n)
		}
	}
}

// The alarm of a daemon contains the faults in force, or else the last one.
func TestAlarms(t *testing.T) {
	at := time.Unix(0, 0)
	on := Injected{ID: "1", At: "syncd", Fault: Fault{Kind: RedisFull}, From: at, Until: at.Add(time.Minute)}
	over := Injected{ID: "2", At: "tammgrd", Fault: Fault{Kind: RedisEmpty, DB: AllDBs}, From: at, Until: at,
		Over: "it is done"}
	got := Alarms([]Injected{on, over})
	if fmt.Sprint(got) != "map[syncd-fault-injected:map[resource:syncd severity:MAJOR "+
		"text:faults are injected on purpose: Redis is full, until 1970-01-01T00:01:00Z type-id:FAULT_INJECTED] "+
		"tammgrd-fault-injected:map[resource:tammgrd severity:MAJOR "+
		"text:faults were injected on purpose, the last: all databases were emptied, from 1970-01-01T00:00:00Z "+
		"type-id:FAULT_INJECTED]]" {
		t.Errorf("%v", got)
	}
}
