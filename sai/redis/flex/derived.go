package flex

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// SONiC's syncd computes some rows of COUNTERS_DB from the readings of a group: rates of ports and router interfaces,
// and the highest values of watermarks since their last clearings. There, plug-ins that orchagent registers with the
// group do that. For a group without plug-ins, these functions do it. For a group with plug-ins nothing is computed.

const ratesTable = "RATES:"

// rateFields are the fields of a row of rates: bytes and packets per second.
var rateFields = [4]string{"RX_BPS", "RX_PPS", "TX_BPS", "TX_PPS"}

// rateSums contains the statistics whose sum each of rateFields is the rate of, by group.
var rateSums = map[string][4][]sai.StatID{
	"PORT_STAT_COUNTER": {
		{sai.PortStatIfInOctets}, {sai.PortStatIfInUcastPkts, sai.PortStatIfInNonUcastPkts},
		{sai.PortStatIfOutOctets}, {sai.PortStatIfOutUcastPkts, sai.PortStatIfOutNonUcastPkts},
	},
	"RIF_STAT_COUNTER": {
		{sai.RouterInterfaceStatInOctets}, {sai.RouterInterfaceStatInPackets},
		{sai.RouterInterfaceStatOutOctets}, {sai.RouterInterfaceStatOutPackets},
	},
}

// A reading is what the rates of an object are computed from.
type reading struct {
	at   time.Time
	sums [4]uint64
}

// rate writes the rates since the previous reading of an object. After a restart of its counters there are none.
func (c *Counters) rate(ctx context.Context, to redis.Pipeliner, name string, g *Group, vid sai.OID, args []any) {
	stats, ok := rateSums[name]
	if !ok || len(g.plugins) > 0 {
		return
	}
	is := reading{at: c.births.now()}
	values := valuesOf(args)
	for i, ids := range stats {
		for _, id := range ids {
			n, there := values[id.String()]
			if !there {
				return
			}
			is.sums[i] += n
		}
	}
	was, known := g.readings[vid]
	elapsed := is.at.Sub(was.at).Seconds()
	if known && elapsed <= 0 {
		return
	}
	g.readings[vid] = is
	if !known {
		return
	}
	var rates []any
	for i, field := range rateFields {
		if is.sums[i] < was.sums[i] {
			to.Del(ctx, ratesTable+vid.String())
			return
		}
		perSecond := float64(is.sums[i]-was.sums[i]) / elapsed
		rates = append(rates, field, strconv.FormatFloat(math.Round(perSecond*1000)/1000, 'f', -1, 64))
	}
	to.HSet(ctx, ratesTable+vid.String(), rates...)
}

// valuesOf returns the numbers in a list of fields and values.
func valuesOf(args []any) map[string]uint64 {
	values := map[string]uint64{}
	for i := 0; i+1 < len(args); i += 2 {
		if n, err := strconv.ParseUint(fmt.Sprint(args[i+1]), 10, 64); err == nil {
			values[fmt.Sprint(args[i])] = n
		}
	}
	return values
}

// peakTables are the tables of the highest values since the last clearing by a user, since the last persistent
// clearing, and in the present period. A client that clears a value writes 0.
var peakTables = []string{"USER_WATERMARKS:", "PERSISTENT_WATERMARKS:", "PERIODIC_WATERMARKS:"}

// peakStats contains the watermarks that have rows in these tables, by group. alsoCleared contains further names of
// the same watermarks in the chip, which a clearing clears too.
var (
	peakStats = map[string][]sai.StatID{
		"QUEUE_WATERMARK_STAT_COUNTER": {sai.QueueStatSharedWatermarkBytes},
		"PG_WATERMARK_STAT_COUNTER": {sai.IngressPriorityGroupStatSharedWatermarkBytes,
			sai.IngressPriorityGroupStatXoffRoomWatermarkBytes},
		"BUFFER_POOL_WATERMARK_STAT_COUNTER": {sai.BufferPoolStatWatermarkBytes,
			sai.BufferPoolStatXoffRoomWatermarkBytes},
	}
	alsoCleared = []sai.StatID{sai.QueueStatWatermarkBytes}
)

// cleared returns the statistics that each reading clears in the chip: all, if the group has that mode, or the
// watermarks, so that a reading is of the time after the previous one. A group with plug-ins decides for itself.
func (g *Group) cleared(name string, stats []sai.StatID) (list []sai.StatID) {
	switch {
	case g.clear:
		return stats
	case len(g.plugins) > 0 || peakStats[name] == nil:
		return nil
	}
	for _, id := range stats {
		if slices.Contains(peakStats[name], id) || slices.Contains(alsoCleared, id) {
			list = append(list, id)
		}
	}
	return list
}

// peak records the watermarks of an object, which are arguments of its row. In COUNTERS the highest value of all
// readings remains, unless the group's mode is to clear.
func (g *Group) peak(name string, vid sai.OID, args []any) {
	if len(g.plugins) > 0 || peakStats[name] == nil {
		return
	}
	for i := 0; i+1 < len(args); i += 2 {
		id, known := sai.LookupStat(fmt.Sprint(args[i]))
		n, err := strconv.ParseUint(fmt.Sprint(args[i+1]), 10, 64)
		tabled := slices.Contains(peakStats[name], id)
		if !known || err != nil || !tabled && !slices.Contains(alsoCleared, id) {
			continue
		}
		at := peakOf{vid, id}
		if tabled {
			g.raised[at] = max(g.raised[at], n)
		}
		if !g.clear {
			g.highest[at] = max(g.highest[at], n)
			args[i+1] = strconv.FormatUint(g.highest[at], 10)
		}
	}
}

// A peakOf names a watermark of an object.
type peakOf struct {
	vid  sai.OID
	stat sai.StatID
}

// peaks are watermarks that were read and cleared, and are not in the tables yet.
type peaks map[peakOf]uint64

// raise sets field ARGV[2i-1] of each row KEYS[i] to ARGV[2i] if that is more. It is one step, because the field may be
// cleared at the same time.
const raise = `
for i, key in ipairs(KEYS) do
  local was = redis.call('HGET', key, ARGV[2 * i - 1])
  if not was or tonumber(was) < tonumber(ARGV[2 * i]) then
    redis.call('HSET', key, ARGV[2 * i - 1], ARGV[2 * i])
  end
end`

var raiseScript = swss.NewScript(raise)

// write writes the watermarks. Those that could not be written stay: the chip no longer has them.
func (p peaks) write(ctx context.Context, to *swss.DB) error {
	if len(p) == 0 {
		return nil
	}
	var keys []string
	var values []any
	for at, n := range p {
		for _, table := range peakTables {
			keys, values = append(keys, table+at.vid.String()), append(values, at.stat.String(), n)
		}
	}
	if _, err := to.Run(ctx, raiseScript, keys, values...); err != nil {
		return err
	}
	clear(p)
	return nil
}
