package sairedis

import (
	"context"
	"strconv"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A watermarkRig is a syncd that polls the watermarks of a queue, a priority group and a buffer pool, in three groups.
type watermarkRig struct {
	*rig
	at    time.Duration
	polls []watermarkPoll
}

// A watermarkPoll is a group with the watermarks of one object.
type watermarkPoll struct {
	group, field string
	stats        []sai.StatID
	vid          sai.OID
	real         sai.Key
}

func newWatermarkRig(t *testing.T, mode string, over func(sai.API) sai.API) *watermarkRig {
	fake := saitest.New(saitest.Options{Ports: portCount, Queues: 8, Groups: 8})
	w := &watermarkRig{rig: &rig{T: t, redis: swsstest.Start(t), fake: fake, chip: over(fake)}}
	w.restartServer(ServerOptions{})
	w.restartClient()
	t.Cleanup(func() { w.stop() })
	w.createSwitch()
	port := sai.Obj(sai.ObjectTypePort, w.ports()[2])
	pool, err := w.client.Create(t.Context(), sai.ObjectTypeBufferPool, []sai.Attr{
		{ID: sai.BufferPoolAttrType, Value: sai.BufferPoolTypeIngress}, {ID: sai.BufferPoolAttrSize, Value: sai.Uint(9000)},
	})
	w.must("pool", err)
	w.polls = []watermarkPoll{
		{group: "QUEUE_WATERMARK_STAT_COUNTER", field: flex.FieldQueueCounters,
			stats: []sai.StatID{sai.QueueStatSharedWatermarkBytes},
			vid:   w.get(port, sai.PortAttrQoSQueueList).(sai.OIDs)[0]},
		{group: "PG_WATERMARK_STAT_COUNTER", field: flex.FieldPGCounters,
			stats: []sai.StatID{sai.IngressPriorityGroupStatSharedWatermarkBytes,
				sai.IngressPriorityGroupStatXoffRoomWatermarkBytes},
			vid: w.get(port, sai.PortAttrIngressPriorityGroupList).(sai.OIDs)[3]},
		{group: "BUFFER_POOL_WATERMARK_STAT_COUNTER", field: flex.FieldPoolCounters,
			stats: []sai.StatID{sai.BufferPoolStatWatermarkBytes, sai.BufferPoolStatXoffRoomWatermarkBytes}, vid: pool},
	}
	for i := range w.polls {
		p := &w.polls[i]
		p.real = sai.Obj(p.stats[0].ObjectType(), w.rid(p.vid))
		var ids []string
		for _, id := range p.stats {
			ids = append(ids, id.String())
		}
		on := CounterGroup{Interval: time.Second, Mode: mode, Enabled: enable(true)}
		w.must(p.group, w.client.SetCounterGroup(t.Context(), p.group, on))
		w.must(p.group, w.client.StartPoll(t.Context(), p.group, p.field, ids, p.vid))
	}
	return w
}

// read polls all groups after the chip's watermarks have reached the levels.
func (w *watermarkRig) read(levels uint64) {
	for _, p := range w.polls {
		for i, id := range p.stats {
			w.fake.PokeStat(p.real, id, levels+uint64(i))
		}
	}
	w.poll(w.at)
	w.at += 2 * time.Second
}

// want checks all watermarks of one table. The second watermark of an object is one more than the first.
func (w *watermarkRig) want(what, table string, level uint64) {
	w.Helper()
	for _, p := range w.polls {
		row := swss.FieldValues{}
		for i, id := range p.stats {
			row[id.String()] = strconv.FormatUint(level+uint64(i), 10)
		}
		got, err := w.redis.DB(swss.CountersDB).Client().HGetAll(w.Context(), table+":"+p.vid.String()).Result()
		for field, want := range row {
			if err != nil || got[field] != want {
				w.Errorf("%s: %s %s of %s is %q, want %s (%v)", what, table, field, p.group, got[field], want, err)
			}
		}
	}
}

func (w *watermarkRig) clear(table string) {
	for _, p := range w.polls {
		for _, id := range p.stats {
			w.must("clear", w.redis.DB(swss.CountersDB).Client().HSet(w.Context(), table+":"+p.vid.String(), id.String(),
				"0").Err())
		}
	}
}

func same(a sai.API) sai.API { return a }

// Each of the three tables has the maxima since its own clearing, of queues, priority groups and pools alike, although
// one reading clears the chip's watermarks for all of them. It makes no difference whether the group's mode clears too.
func TestWatermarksOfAllTables(t *testing.T) {
	for _, mode := range []string{flex.StatsModeRead, flex.StatsModeReadAndClear} {
		w := newWatermarkRig(t, mode, same)
		w.read(192)
		w.read(96)
		for _, table := range []string{"USER_WATERMARKS", "PERSISTENT_WATERMARKS", "PERIODIC_WATERMARKS"} {
			w.want("192, then 96", table, 192)
		}
		w.clear("PERIODIC_WATERMARKS")
		w.read(120)
		w.clear("USER_WATERMARKS")
		w.read(50)
		w.want("cleared before 50", "USER_WATERMARKS", 50)
		w.want("cleared before 120 and 50", "PERIODIC_WATERMARKS", 120)
		w.want("not cleared", "PERSISTENT_WATERMARKS", 192)
		w.read(288)
		for _, table := range []string{"USER_WATERMARKS", "PERSISTENT_WATERMARKS", "PERIODIC_WATERMARKS"} {
			w.want("288", table, 288)
		}
	}
}

// A watermark that could not be written is written later: the chip no longer has it.
func TestWatermarksSurviveRedis(t *testing.T) {
	w := newWatermarkRig(t, flex.StatsModeRead, same)
	w.read(100)
	key := "PERSISTENT_WATERMARKS:" + w.polls[1].vid.String()
	client := w.redis.DB(swss.CountersDB).Client()
	w.must("del", client.Del(t.Context(), key).Err())
	w.must("set", client.Set(t.Context(), key, "garbage", 0).Err())
	for i, id := range w.polls[1].stats {
		w.fake.PokeStat(w.polls[1].real, id, 700+uint64(i))
	}
	if _, err := w.server.Counters.Poll(t.Context(), start.Add(w.at)); err == nil {
		t.Error("a watermark could be written into a text")
	}
	w.at += 2 * time.Second
	w.must("del", client.Del(t.Context(), key).Err())
	for _, p := range w.polls {
		for i, id := range p.stats {
			w.fake.PokeStat(p.real, id, 5+uint64(i))
		}
	}
	w.polls = w.polls[1:2]
	w.read(5)
	w.want("after the failure", "PERSISTENT_WATERMARKS", 700)
}

// restless is a chip whose watermarks rise after each reading: to 10, then 20, and so on.
type restless struct {
	*saitest.Fake
	calls map[sai.Key]uint64
}

func (r *restless) rise(k sai.Key, ids []sai.StatID) {
	r.calls[k]++
	for i, id := range ids {
		r.PokeStat(k, id, 10*r.calls[k]+uint64(i))
	}
}

func (r *restless) Stats(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	values, err := r.Fake.Stats(ctx, k, ids)
	r.rise(k, ids)
	return values, err
}

func (r *restless) StatsAndClear(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	values, err := r.Fake.Stats(ctx, k, ids)
	if err == nil {
		err = r.ClearStats(ctx, k, ids)
	}
	return values, err
}

// What a watermark reaches between its reading and its clearing is not lost, because both are one call.
func TestWatermarksWhileTheChipRuns(t *testing.T) {
	chip := &restless{calls: map[sai.Key]uint64{}}
	w := newWatermarkRig(t, flex.StatsModeRead, func(fake sai.API) sai.API {
		chip.Fake = fake.(*saitest.Fake)
		return chip
	})
	w.polls = w.polls[:1]
	w.read(7)
	w.want("raised to 10 after the first reading", "USER_WATERMARKS", 10)
}
