package flymonorch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// Epochs of tasks with different lengths are reported when they end by the chip's time of day, however much it differs
// from the daemon's.
func TestEpochs(t *testing.T) {
	for _, ahead := range []time.Duration{0, 3700 * time.Millisecond, -12345 * time.Millisecond,
		time.Unix(0, 0).Sub(start)} {
		t.Run(ahead.String(), func(t *testing.T) {
			b := newBench(t, func(b *bench) { b.ahead = ahead })
			b.task("short", "epoch", "100", "filter", "src-port=1000", "memory", "96")
			b.task("long", "epoch", "1000", "filter", "src-port=1000", "key", "dst-ip", "share", "1", "memory", "96")
			b.Step()
			for i := range 40 {
				b.send("10.0.0.1", 1+i%2)
				b.Pass(50 * time.Millisecond)
			}
			b.Pass(registerDelay)
			n := b.Now.Add(ahead).UnixMilli()
			b.wantResult("short", fmt.Sprintf("%d: 3", n/100-1))
			b.wantResult("long", fmt.Sprintf("%d: 30", n/1000-1))
			if len(b.Logged) > 0 {
				t.Errorf("logged %v", b.Logged)
			}
		})
	}
}

// A problem is flagged at its own epoch, and at no other. It happens at second 2.35. The following epochs end at 3.01,
// 4.01 and so on.
func TestFlags(t *testing.T) {
	e := func(n int, rest string) string { return fmt.Sprintf("%d: %s", 1700000000+n, rest) }
	for _, tt := range []struct {
		name string
		do   func(b *bench)
		then string
		next []string
	}{
		{"nothing", func(b *bench) {}, e(1, "3"), []string{e(2, "3"), e(3, "3")}},
		{"another filter", func(b *bench) { b.task("t1", "filter", "protocol=17"); b.Step() }, e(1, "3"),
			[]string{e(2, "3 partial"), e(3, "3")}},
		{"another threshold", func(b *bench) { b.task("t1", "threshold", "5"); b.Step() }, e(1, "3"),
			[]string{e(2, "3 partial"), e(3, "3")}},
		{"another size", func(b *bench) { b.task("t1", "memory", "384"); b.Step() }, e(2, "1 partial"),
			[]string{e(2, "2 partial"), e(3, "3")}},
		{"another key", func(b *bench) { b.task("t1", "key", "dst-ip"); b.Step() }, e(2, "1 partial"),
			[]string{e(2, "2 partial"), e(3, "3")}},
		{"another attribute", func(b *bench) { b.task("t1", "attribute", "max(size)"); b.Step() }, e(2, "1 partial"),
			[]string{e(2, "2 partial"), e(3, "3")}},
		{"other epochs", func(b *bench) { b.task("t1", "epoch", "2000"); b.Step() }, e(2, "1 partial"),
			[]string{e(2, "1 partial"), "850000001: 5 partial", "850000001: 5 partial", "850000002: 6"}},
		{"no epochs", func(b *bench) { b.task("t1", "epoch", "0"); b.Step() }, "0: 0 partial", []string{"0: 0 partial"}},
		{"live", func(b *bench) { b.task("t1", "readout", "live"); b.Step() }, e(2, "1 partial"),
			[]string{e(2, "2 first,partial,live"), e(3, "3 live")}},
		{"a step of the clock", func(b *bench) { b.ahead += 5 * time.Second; b.chip.steps++ }, e(1, "3"),
			[]string{e(7, "2 clock-step"), e(8, "4 dirty,clock-step"), e(9, "3")}},
		{"a step back", func(b *bench) { b.ahead -= 5 * time.Second; b.chip.steps++ }, e(1, "3"),
			[]string{e(-3, "2 clock-step"), e(-2, "4 dirty,clock-step"), e(-1, "3")}},
		{"another chip", func(b *bench) { b.restart() }, e(1, "3"), []string{e(2, "2 first"), e(3, "3")}},
		{"nobody looks", func(b *bench) {
			for range 2 { // in epochs 3 and 4
				b.Now = b.Now.Add(950 * time.Millisecond)
				b.send("10.0.0.1", 1)
			}
		}, e(1, "3"), []string{e(3, "1"), e(3, "1"), e(4, "4 dirty"), e(5, "3")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.task("t1")
			b.Step()
			b.to(1.01)
			b.wantResult("t1", e(0, "1 first"))
			b.to(2.35)
			tt.do(b)
			b.wantResult("t1", tt.then)
			for i, want := range tt.next {
				b.to(float64(i) + 3.01)
				b.wantResult("t1", want)
			}
			for _, l := range b.Logged {
				t.Error(l)
			}
		})
	}
}

// In a task without epochs, intervals across a change of the clock are flagged from then on. Counts do not depend on
// the clock. A change of the task does not remove the flag.
func TestClockStepWithoutEpochs(t *testing.T) {
	for name, then := range map[string]func(b *bench){
		"read again": func(b *bench) {},
		"changed": func(b *bench) {
			b.task("t1", "key", "ip-pair", "attribute", "max(interval)", "memory", "576", "epoch", "0", "threshold", "5")
			b.Step()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(b *bench) { b.geo.Groups = 9 })
			b.task("t1", "key", "ip-pair", "attribute", "max(interval)", "memory", "576", "epoch", "0")
			b.task("t2", "epoch", "0")
			b.Step()
			b.send("10.0.0.1", 1)
			b.Pass(2 * unboundedPeriod)
			b.wantResult("t1", "0: 1")
			b.ahead += time.Hour
			b.chip.steps++
			b.send("10.0.0.1", 1)
			then(b)
			b.Pass(2 * unboundedPeriod)
			if r, _ := b.epochSim("t1"); r.Flags&flymon.FlagClockStep == 0 {
				t.Errorf("t1 is %+v, want it flagged", r)
			}
			if r, _ := b.epochSim("t2"); r.Flags&flymon.FlagClockStep != 0 {
				t.Errorf("t2 is %+v, want it without a flag", r)
			}
		})
	}
}

// A task that is added between the end of an epoch and its reading does not prevent the reading of other tasks.
func TestNewTaskAtTheEndOfAnEpoch(t *testing.T) {
	b := newBench(t)
	b.task("t1", "filter", "protocol=17")
	b.Step()
	b.to(1.003)
	b.task("t2", "filter", "protocol=6")
	b.Step()
	b.to(1.01)
	b.wantResult("t1", "1700000000: 1 first")
}

// If the registers are more than one reading can cover, all are read, each once per epoch, and new rows are handled in
// between.
func TestManyTasks(t *testing.T) {
	b := newBench(t, func(b *bench) { b.geo.Depth, b.geo.Groups = 65536, 9 })
	const n = 9
	for i := range n {
		b.task(fmt.Sprint("t", i), "memory", "49152")
	}
	b.Step()
	for e := range 2 {
		b.send("10.0.0.1", 1)
		b.Pass(500*time.Millisecond + registerDelay - time.Microsecond)
		b.Rec.Reset()
		b.Pass(time.Microsecond)
		reads := 0
		for _, l := range b.Rec.Lines() {
			if l[0] == 'g' {
				reads++
			}
		}
		// There is a status read for every two tasks, and there are six parts of each task.
		if want := (n+1)/2 + 6*n; reads != want {
			t.Errorf("epoch %d: %d windows read, want %d", e, reads, want)
		}
		for i := range n {
			b.wantResult(fmt.Sprint("t", i), []string{"1700000000: 1 first", "1700000001: 1"}[e])
		}
		b.Pass(500*time.Millisecond - registerDelay)
	}
}

// A reading that takes until the bank counts again is flagged.
func TestLateReading(t *testing.T) {
	b := newBench(t)
	b.task("t1")
	b.Step()
	b.to(1.5)
	b.chip.onRead = func() { b.fm.reader.skew += 400 * time.Millisecond } // 400 ms for each of three units: 1.2 s
	b.to(2.01)
	b.wantResult("t1", "1700000001: 3 late-read")
	b.chip.onRead = func() {}
	b.to(3.01)
	b.wantResult("t1", "1700000002: 3")
}

// A query that is changed has no answer until its task is read again.
func TestQueryIsChanged(t *testing.T) {
	b := newBench(t)
	b.task("t1")
	b.query("q", "t1", "10.0.0.1")
	b.Step()
	for range 3 {
		b.send("10.0.0.1", 5)
		b.Pass(time.Second)
	}
	if b.answer("q") == "" {
		t.Fatal("no answer")
	}
	b.query("q", "t1", "10.0.0.2")
	b.Step()
	if got := b.answer("q"); got != "" {
		t.Errorf("after the change: %s", got)
	}
	for range 2 {
		b.Pass(time.Second)
	}
	if row := b.Row(swss.CountersDB, schema.CountersFlyMonAnswer, "q"); !strings.Contains(row["FLOW"], "10.0.0.2") {
		t.Errorf("answer %v", row)
	}
}
