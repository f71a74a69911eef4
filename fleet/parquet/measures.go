package parquet

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A measure is a number that a group shows.
type measure struct {
	name   string
	help   string
	kind   query.Kind
	column int     // of the numbers; -1 for a distribution
	spread *spread // of a distribution
	how    how
	share  int64 // of a quantile, in thousandths
}

// how is the way in which the numbers of a group's rows combine.
type how uint8

const (
	sum      how = iota
	least        // the least number
	greatest     // the greatest number
	quantile     // the number that a share of the rows does not exceed
	mean         // of the packets of a distribution
	ofSpread     // the latency that a share of the packets of a distribution does not exceed
)

var quantiles = []struct {
	name  string
	share int64
	text  string
}{{"p50", 500, "50 %"}, {"p90", 900, "90 %"}, {"p99", 990, "99 %"}, {"p999", 999, "99.9 %"}}

// measures returns all measures of a kind of rows.
func (t *scanTable) measures() (list []measure) {
	for i := range t.spreads {
		s := &t.spreads[i]
		list = append(list, measure{s.name, "mean " + s.help, query.Duration, -1, s, mean, 0})
		for _, q := range quantiles {
			help := s.help + " that " + q.text + " of the packets do not exceed"
			list = append(list, measure{s.name + "." + q.name, help, query.Duration, -1, s, ofSpread, q.share})
		}
	}
	for i := range t.fields {
		f := &t.fields[i]
		if f.Total == query.NoTotal {
			continue
		}
		by := map[query.Total]how{query.Sum: sum, query.Between: least, query.Most: greatest}[f.Total]
		list = append(list, measure{f.Name, f.Help, f.Kind, f.column, nil, by, 0})
		for _, q := range quantiles {
			help := f.Help + ": that " + q.text + " of the rows do not exceed"
			list = append(list, measure{f.Name + "." + q.name, help, f.Kind, f.column, nil, quantile, q.share})
		}
	}
	return list
}

// shown returns the measures that a text names.
func (t *scanTable) shown(text string) (list []measure, err error) {
	if strings.TrimSpace(text) == "" {
		text = t.usual
	}
	all := t.measures()
	numbers := &query.Table[measure]{Rows: "groups of " + t.kind}
	for _, m := range all {
		numbers.Fields = append(numbers.Fields, query.Field[measure]{Name: m.name})
	}
	g, err := numbers.Grouping(text) // the same list of names
	if err != nil {
		return nil, err
	}
	for _, f := range g.By {
		list = append(list, all[slices.IndexFunc(all, func(m measure) bool { return m.name == f.Name })])
	}
	return list, nil
}

// A pool bounds the numbers that a scan holds for exact quantiles.
type pool struct {
	held atomic.Int64
	most int64
}

// mostHeld is the greatest number of numbers that a scan holds: 128 MB. If there are more, quantiles have bounds.
const mostHeld = 1 << 24

// full reports whether there are more numbers than can be held.
func (p *pool) full() bool { return p.held.Load() > p.most }

// A tally is what is known of one column, or of one distribution, in a group.
type tally struct {
	rows    int64 // with a known number
	unknown int64
	over    bool // the sum is too large
	sum     int64
	least   int64
	most    int64
	values  [][]int64    // for quantiles, unless there are too many
	coarse  *coarse      // for quantiles, if there are too many
	packets int64        // of a distribution
	buckets *[256]uint64 // of a distribution
}

// addSum adds to the sum.
func (t *tally) addSum(n int64) {
	s := t.sum + n
	t.over = t.over || (s > t.sum) != (n > 0) && n != 0
	t.sum = s
}

// bound widens the bounds.
func (t *tally) bound(low, high int64) {
	if t.rows == 0 {
		t.least, t.most = low, high
	}
	t.least, t.most = min(t.least, low), max(t.most, high)
}

// add adds a number. values of a group are kept if keep is set.
func (t *tally) add(n int64, keep bool) {
	t.bound(n, n)
	t.rows++
	t.addSum(n)
	switch {
	case !keep:
	case t.coarse != nil:
		t.coarse.add(n, 1)
	default:
		last := len(t.values) - 1
		if last < 0 || len(t.values[last]) == cap(t.values[last]) {
			size := 16
			if last >= 0 {
				size = min(2*cap(t.values[last]), 1<<12)
			}
			t.values = append(t.values, make([]int64, 0, size))
			last++
		}
		t.values[last] = append(t.values[last], n)
	}
}

// addSpread adds a row's distribution.
func (t *tally) addSpread(count, total, low, high int64, buckets []uint32) {
	t.bound(low, high)
	t.rows++
	t.packets += count
	t.addSum(total)
	if t.buckets == nil {
		t.buckets = new([256]uint64)
	}
	first := int(result.Bucket(low))
	for i, n := range buckets {
		t.buckets[first+i] += uint64(n)
	}
}

// coarsen replaces the numbers by counts.
func (t *tally) coarsen(p *pool) {
	if t.coarse != nil {
		return
	}
	t.coarse = &coarse{}
	for _, list := range t.values {
		for _, n := range list {
			t.coarse.add(n, 1)
		}
		p.held.Add(-int64(len(list)))
	}
	t.values = nil
}

// merge adds the tally of other rows.
func (t *tally) merge(o *tally, p *pool) {
	t.unknown += o.unknown
	if o.rows == 0 {
		return
	}
	t.bound(o.least, o.most)
	t.rows, t.packets, t.over = t.rows+o.rows, t.packets+o.packets, t.over || o.over
	t.addSum(o.sum)
	if p.full() || t.coarse != nil || o.coarse != nil {
		t.coarsen(p)
		o.coarsen(p)
	}
	switch {
	case o.coarse == nil:
		t.values = append(t.values, o.values...)
	case t.coarse == nil:
		t.coarse = o.coarse
	default:
		for i, n := range o.coarse.counts {
			t.coarse.count(o.coarse.first+i, n)
		}
	}
	switch {
	case t.buckets == nil:
		t.buckets = o.buckets
	case o.buckets != nil:
		for i, n := range o.buckets {
			t.buckets[i] += n
		}
	}
}

// sums returns the number of a group for a measure.
func (t *tally) sums(m *measure, flags result.Flags, scratch *[]int64) (s query.Sums) {
	s.Unknown, s.Known = t.unknown, t.rows > 0
	if t.rows == 0 {
		s.Range = query.Range{Low: 0, High: math.MaxInt64}
		return s
	}
	switch m.how {
	case sum:
		s.Range = query.Exactly(t.sum)
		const fewer = result.Gap | result.Silent | result.Overflow | result.Cut | result.Missing | result.Edge
		if t.over || t.unknown > 0 || flags&fewer != 0 {
			s.High = math.MaxInt64
		}
		if t.over || flags&(result.Twice|result.Searched) != 0 {
			s.Low = min(0, t.least)
		}
	case least:
		s.Range = query.Exactly(t.least)
		if t.unknown > 0 {
			s.Range = bound(s.Range, query.Between)
		}
	case greatest:
		s.Range = query.Exactly(t.most)
		if t.unknown > 0 {
			s.Range = bound(s.Range, query.Most)
		}
	case mean:
		s.Range, s.Known = query.Exactly(t.sum/max(1, t.packets)), !t.over && t.packets > 0
	case quantile:
		s.Range = t.quantile(m.share, scratch)
	case ofSpread:
		s.Range, s.Known = t.spread(m.share)
	}
	return s
}

// rankOf returns the rank of a quantile among n numbers, from 1 on: that of the least one that a share does not exceed.
func rankOf(n, thousandths int64) int64 {
	rest := 1000 - thousandths
	return n - n/1000*rest - n%1000*rest/1000
}

// quantile returns the number of a rank, or its bounds.
func (t *tally) quantile(thousandths int64, scratch *[]int64) query.Range {
	rank := rankOf(t.rows, thousandths)
	if t.coarse != nil {
		r := t.coarse.at(rank)
		return query.Range{Low: max(r.Low, t.least), High: min(r.High, t.most)}
	}
	all := (*scratch)[:0]
	for _, list := range t.values {
		all = append(all, list...)
	}
	*scratch = all
	return query.Exactly(selectRank(all, int(rank-1)))
}

// spread returns the bounds of the latency of a rank among packets.
func (t *tally) spread(thousandths int64) (query.Range, bool) {
	var n, below uint64
	for _, c := range t.buckets {
		n += c
	}
	if n == 0 {
		return query.Range{}, false
	}
	rank := uint64(rankOf(int64(n), thousandths))
	for b, c := range t.buckets {
		if below += c; below < rank {
			continue
		}
		r := query.Range{Low: t.least, High: t.most}
		if b > 0 {
			r.Low = max(r.Low, result.BucketFrom(uint8(b)))
		}
		if b < 247 {
			r.High = min(r.High, result.BucketFrom(uint8(b+1))-1)
		}
		return r, true
	}
	return query.Range{}, false
}

// selectRank returns the number that would be at an index of the sorted list, which it reorders.
func selectRank(list []int64, at int) int64 {
	low, high := 0, len(list)-1
	for high-low > 32 {
		pivot := median(list[low], list[low+(high-low)/2], list[high])
		i, j := low, high
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case at <= j:
			high = j
		case at >= i:
			low = i
		default:
			return list[at]
		}
	}
	slices.Sort(list[low : high+1])
	return list[at]
}

func median(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }

// A coarse counts numbers by their size: exact up to 64, then 32 counts for each octave. So a bound differs from the
// number by less than a 32nd of it.
type coarse struct {
	first  int
	counts []uint64
}

const coarseBits = 5

// slotOf returns the index of a number's count.
func slotOf(n int64) int {
	if n < 0 {
		return -1 - slotOf(-(n + 1))
	}
	shift := max(0, bits.Len64(uint64(n))-coarseBits-1)
	return shift<<coarseBits + int(n>>shift)
}

// slotRange returns the numbers of a count.
func slotRange(slot int) query.Range {
	if slot < 0 {
		r := slotRange(-1 - slot)
		return query.Range{Low: -1 - r.High, High: -1 - r.Low}
	}
	shift := max(0, slot>>coarseBits-1)
	low := int64(slot-shift<<coarseBits) << shift
	return query.Range{Low: low, High: low + 1<<shift - 1}
}

func (c *coarse) add(n int64, times uint64) { c.count(slotOf(n), times) }

func (c *coarse) count(slot int, times uint64) {
	switch {
	case times == 0:
		return
	case len(c.counts) == 0:
		c.first, c.counts = slot, make([]uint64, 1, 64)
	case slot < c.first:
		c.counts = append(make([]uint64, c.first-slot, c.first-slot+len(c.counts)), c.counts...)
		c.first = slot
	}
	for slot-c.first >= len(c.counts) {
		c.counts = append(c.counts, 0)
	}
	c.counts[slot-c.first] += times
}

// at returns the bounds of the number of a rank.
func (c *coarse) at(rank int64) query.Range {
	for i, n := range c.counts {
		if rank -= int64(n); rank <= 0 {
			return slotRange(c.first + i)
		}
	}
	panic(fmt.Sprintf("rank is %d too large", rank))
}
