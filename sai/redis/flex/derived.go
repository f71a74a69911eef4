package flex

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
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

// peakStats contains the watermarks that have rows in these tables, by group; level contains further names of the
// same watermark in the chip, which a clearing clears too.
var (
	peakStats = map[string]sai.StatID{"QUEUE_WATERMARK_STAT_COUNTER": sai.QueueStatSharedWatermarkBytes}
	levels    = []sai.StatID{sai.QueueStatSharedWatermarkBytes, sai.QueueStatWatermarkBytes}
)

// raise sets field ARGV[1] of each row KEYS[i] to ARGV[i+1] if that is more. It is one step, because the field may be
// cleared at the same time.
const raise = `
for i, key in ipairs(KEYS) do
  local was = redis.call('HGET', key, ARGV[1])
  if not was or tonumber(was) < tonumber(ARGV[i + 1]) then
    redis.call('HSET', key, ARGV[1], ARGV[i + 1])
  end
end`

var raiseScript = swss.NewScript(raise)

// peaks collects the watermarks that one poll has read.
type peaks struct {
	keys   []string
	values []any
}

// peak records the watermark of an object, and clears it in the chip, so that the next reading is of the time after
// this one. In COUNTERS the highest value of all readings remains.
func (c *Counters) peak(ctx context.Context, name string, g *Group, vid sai.OID, args []any, all *peaks) error {
	stat, ok := peakStats[name]
	if !ok || len(g.plugins) > 0 || g.clear {
		return nil
	}
	var clear []sai.StatID
	for i := 0; i+1 < len(args); i += 2 {
		for _, id := range levels {
			if args[i] != id.String() {
				continue
			}
			n, err := strconv.ParseUint(fmt.Sprint(args[i+1]), 10, 64)
			if err != nil {
				return err
			}
			if id == stat {
				for _, table := range peakTables {
					all.keys, all.values = append(all.keys, table+vid.String()), append(all.values, n)
				}
			}
			at := peakOf{vid, id}
			g.highest[at] = max(g.highest[at], n)
			args[i+1] = strconv.FormatUint(g.highest[at], 10)
			clear = append(clear, id)
		}
	}
	if len(clear) == 0 {
		return nil
	}
	t, _ := protocol.VIDType(vid)
	k, err := c.objects.IDs.RealKey(sai.Obj(t, vid))
	if err != nil {
		return err
	}
	return c.births.API.ClearStats(ctx, k, clear) // not Births' own, because the object's counters go on counting
}

// A peakOf names a watermark of an object.
type peakOf struct {
	vid  sai.OID
	stat sai.StatID
}

// write writes the collected watermarks.
func (p *peaks) write(ctx context.Context, name string, to *swss.DB) error {
	if len(p.keys) == 0 {
		return nil
	}
	args := append([]any{peakStats[name].String()}, p.values...)
	_, err := to.Run(ctx, raiseScript, p.keys, args...)
	return err
}
