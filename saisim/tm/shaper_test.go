package tm

import "testing"

// at checks the number of cycles for which the shapers of a port hold its packets at a cycle.
func at(t *testing.T, p *Port[int], cycle, want uint64) {
	t.Helper()
	p.Fill(cycle)
	if got := p.Wait(); got != want {
		t.Errorf("at cycle %d the shapers hold the port for %d cycles, want %d", cycle, got, want)
	}
}

func served(t *testing.T, p *Port[int], want int) {
	t.Helper()
	if _, q := p.Dequeue(); q != want {
		t.Errorf("queue %d is served, want %d", q, want)
	}
}

// A second has 1000 cycles. A packet of 96 bytes costs 100 tokens, which a queue of 100 bytes per second gets in 1000
// cycles. It need not have them before the packet leaves.
func TestShaper(t *testing.T) {
	p, b := port(2)
	b.Hz = 1000
	slow := Settings{Discipline: Discipline{Weight: 4}, Shaper: Shaper{Rate: 100}}
	p.Configure(0, slow)
	p.Configure(1, strict())
	for range 4 {
		p.Enqueue(0, 0, 96, false)
	}
	at(t, p, 0, 0)
	served(t, p, 0)
	at(t, p, 0, 1000)
	at(t, p, 400, 600)
	p.Enqueue(1, 1, 96, false)
	at(t, p, 400, 0) // the other queue has no shaper
	served(t, p, 1)
	at(t, p, 400, 600)
	at(t, p, 1000, 0)
	served(t, p, 0)
	p.Shape(Shaper{Rate: 50, Packets: true}) // a packet in 20 cycles
	p.Enqueue(1, 1, 96, false)
	p.Enqueue(1, 1, 96, false)
	at(t, p, 1000, 0)
	served(t, p, 1)
	at(t, p, 1000, 20)
	at(t, p, 1020, 0)
	served(t, p, 1)
	at(t, p, 1040, 960)
	p.Configure(0, Settings{Discipline: Discipline{Weight: 4}})
	at(t, p, 1040, 0) // the shaper of the queue is gone
	p.Shape(Shaper{})
	served(t, p, 0)
	if p.Shaped() {
		t.Error("the port is still shaped")
	}
}

// The bucket keeps at most its burst, and is full at the beginning and after a change of its unit.
func TestShaperBurst(t *testing.T) {
	p, b := port(1)
	b.Hz = 1000
	burst := Settings{Discipline: Discipline{Weight: 4}, Shaper: Shaper{Rate: 100, Burst: 150}}
	p.Configure(0, burst)
	for range 20 {
		p.Enqueue(0, 0, 96, false)
	}
	p.Fill(1_000_000)
	served(t, p, 0) // 50 tokens are left
	at(t, p, 1_000_000, 0)
	served(t, p, 0)
	at(t, p, 1_000_000, 500)
	burst.Shaper.Burst = 10
	p.Fill(1_010_000) // 150 tokens
	p.Configure(0, burst)
	served(t, p, 0)
	at(t, p, 1_010_000, 900)
	p.Configure(0, Settings{Discipline: Discipline{Weight: 4}, Shaper: Shaper{Rate: 100, Burst: 1, Packets: true}})
	at(t, p, 1_010_000, 0)
}

// A queue that its shaper holds after a packet gives up its turn and the rest of its credit.
func TestHeldQueuePasses(t *testing.T) {
	p, b := port(2, weighted(8), weighted(4))
	b.Hz = 1000
	p.Configure(0, Settings{Discipline: Discipline{Weight: 8}, Shaper: Shaper{Rate: 1024}})
	for range 10 {
		p.Enqueue(0, 0, 1020, false)
		p.Enqueue(1, 1, 1020, false)
	}
	for _, want := range []int{0, 1, 1, 1} {
		served(t, p, want)
	}
	p.Fill(1000)
	for _, want := range []int{0, 1, 1} { // not twice, although its credit was for two packets
		served(t, p, want)
	}
}

// Each colour has its own thresholds, and yellow and red packets are counted besides all others.
func TestColours(t *testing.T) {
	p, _ := port(1)
	p.EnqueueColoured(0, 0, 96, true, Red)
	p.Configure(0, Settings{Discipline: Discipline{Weight: 1}, WRED: [NumColours]WRED{
		Yellow: {ECN: true, Max: 1, Percent: 100}, Red: {Drop: true, Max: 1, Percent: 100},
	}})
	for _, tt := range []struct {
		colour Colour
		ecn    bool
		want   Verdict
	}{{Green, true, Admitted}, {Yellow, true, Marked}, {Yellow, false, Admitted}, {Red, true, WREDDrop}} {
		if v := p.EnqueueColoured(0, 0, 96, tt.ecn, tt.colour); v != tt.want {
			t.Errorf("a packet of colour %d: verdict %d, want %d", tt.colour, v, tt.want)
		}
	}
	for p.Len() > 0 {
		p.Dequeue()
	}
	want := [NumColours - 1]ColourCounts{
		{Dequeued: 2, DequeuedBytes: 192, Marked: 1},
		{Dequeued: 1, DequeuedBytes: 96, Dropped: 1, DroppedBytes: 96, DroppedWRED: 1},
	}
	if c := p.Queue(0).Counts; c.Coloured != want || c.Dequeued != 4 || c.DroppedWRED != 1 {
		t.Errorf("counters %+v, want %+v of yellow and red packets, 4 dequeued and 1 dropped", c, want)
	}
}
