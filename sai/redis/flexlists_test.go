package sairedis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// pollList sends a request for the counters of an object, whose list is the unchecked text, as SONiC's orchagent
// does.
func (g *rig) pollList(group, field, text string, vid sai.OID) error {
	ctx := context.Background()
	if err := g.client.acquire(ctx); err != nil {
		return err
	}
	defer g.client.release()
	return g.client.poll(ctx, protocol.OpStartPoll, group, []swss.Pair{{Field: field, Value: text}}, []sai.OID{vid})
}

// Neither a statistic that the chip does not count, nor a trailing comma, affects the object's other statistics.
func TestPollOfUnsupportedStatistic(t *testing.T) {
	ctx := context.Background()
	fake := saitest.New(saitest.Options{
		Ports: portCount, Uncounted: []sai.StatID{sai.PortStatIfInDiscards},
		Unsupported: []sai.AttrID{sai.ACLCounterAttrBytes},
	})
	g := newRig(t, swsstest.Start(t), fake, ServerOptions{})
	g.createSwitch()
	port := g.ports()[1]
	acl, real := g.counter()
	g.fake.Poke(real, sai.Attr{ID: sai.ACLCounterAttrPackets, Value: sai.Uint(5)})
	g.fake.PokeStat(sai.Obj(sai.ObjectTypePort, g.rid(port)), sai.PortStatIfOutOctets, 7)
	stale := map[string]any{"SAI_PORT_STAT_IF_IN_DISCARDS": 9} // value that an earlier run has left
	g.must("HSet", g.redis.DB(swss.CountersDB).Client().HSet(ctx, "COUNTERS:"+port.String(), stale).Err())
	g.must("group", g.client.SetCounterGroup(ctx, "G", CounterGroup{Interval: time.Second, Enabled: enable(true)}))
	// SAI has no statistic of the last name; a newer one may.
	list := "SAI_PORT_STAT_IF_IN_OCTETS,SAI_PORT_STAT_IF_IN_DISCARDS,SAI_PORT_STAT_IF_OUT_OCTETS,SAI_PORT_STAT_NEWER,"
	g.must("port", g.pollList("G", flex.FieldPortCounters, list, port))
	g.must("acl", g.pollList("G", flex.FieldACLCounters, strings.Join(aclField, ","), acl))
	for i := range 2 {
		g.poll(time.Duration(i) * time.Second)
		got := g.row(swss.CountersDB, "COUNTERS:"+port.String())
		if want := "SAI_PORT_STAT_IF_IN_OCTETS=0 SAI_PORT_STAT_IF_OUT_OCTETS=7"; !strings.HasSuffix(got, want) {
			t.Errorf("poll %d: the port's row is %q, want %q", i, got, want)
		}
		if got, want := g.row(swss.CountersDB, "COUNTERS:"+acl.String()), "SAI_ACL_COUNTER_ATTR_PACKETS=5"; got != want {
			t.Errorf("poll %d: the ACL counter's row is %q, want %q", i, got, want)
		}
	}
	if err := g.pollList("G", flex.FieldPortCounters, "SAI_PORT_STAT_IF_IN_OCTETS,IF_IN_OCTETS", port); err == nil {
		t.Error("a word that is no statistic is accepted")
	}
}

// On backends that count some of random lists of statistics, the row has all that are counted and no others. This
// holds with and without clearing.
func TestRandomCounterLists(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 3, Count: 8}, func(t *testing.T, seed uint64) {
		ctx := context.Background()
		r := rand.New(rand.NewPCG(seed, 1))
		all := slices.Clone(sai.ObjectMeta(sai.ObjectTypePort).Stats)
		r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		uncounted := all[:r.IntN(len(all))]
		g := newRig(t, swsstest.Start(t), saitest.New(saitest.Options{Ports: portCount, Uncounted: uncounted}),
			ServerOptions{})
		g.createSwitch()
		mode := []string{flex.StatsModeRead, flex.StatsModeReadAndClear}[r.IntN(2)]
		g.must("group", g.client.SetCounterGroup(ctx, "G",
			CounterGroup{Interval: time.Second, Mode: mode, Enabled: enable(true)}))
		want := map[sai.OID]map[string]string{}
		for _, port := range g.ports() {
			var words []string
			want[port] = map[string]string{}
			for range 1 + r.IntN(40) {
				words = append(words, all[r.IntN(len(all))].String())
				if r.IntN(4) == 0 {
					words = append(words, "")
				}
			}
			for _, w := range words {
				id, ok := sai.LookupStat(w)
				if !ok || slices.Contains(uncounted, id) {
					continue
				}
				if want[port][w] == "" {
					n := r.Uint64N(1000)
					want[port][w] = fmt.Sprint(n)
					g.fake.PokeStat(sai.Obj(sai.ObjectTypePort, g.rid(port)), id, n)
				}
			}
			g.must("start", g.pollList("G", flex.FieldPortCounters, strings.Join(words, ",")+[]string{"", ","}[r.IntN(2)], port))
		}
		for i := range 3 {
			g.poll(time.Duration(i) * time.Second)
			for port, values := range want {
				got, err := g.redis.DB(swss.CountersDB).Client().HGetAll(ctx, "COUNTERS:"+port.String()).Result()
				g.must("HGetAll", err)
				delete(got, flex.FieldCountedSince+"G")
				for w, n := range values {
					if mode == flex.StatsModeReadAndClear && i > 0 {
						n = "0"
					}
					if got[w] != n {
						t.Errorf("poll %d of %s, %s: %s is %q, want %q", i, port, mode, w, got[w], n)
					}
				}
				if len(got) != len(values) {
					t.Errorf("poll %d of %s: %d fields, want %d", i, port, len(got), len(values))
				}
			}
		}
	})
}

// The entry of the host interface table is an object with an id, despite its name. Otherwise SONiC's orchagent exits.
func TestHostifTableEntryIsAnObject(t *testing.T) {
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
	g.createSwitch()
	vid := g.create(sai.ObjectTypeHostifTableEntry, attrs(sai.HostifTableEntryAttrType, sai.HostifTableEntryTypeWildcard,
		sai.HostifTableEntryAttrChannelType, sai.HostifTableEntryChannelTypeNetdevPhysicalPort))
	want := "SAI_HOSTIF_TABLE_ENTRY_ATTR_CHANNEL_TYPE=SAI_HOSTIF_TABLE_ENTRY_CHANNEL_TYPE_NETDEV_PHYSICAL_PORT " +
		"SAI_HOSTIF_TABLE_ENTRY_ATTR_TYPE=SAI_HOSTIF_TABLE_ENTRY_TYPE_WILDCARD"
	if got := g.row(swss.ASICDB, "ASIC_STATE:SAI_OBJECT_TYPE_HOSTIF_TABLE_ENTRY:"+vid.String()); got != want {
		t.Errorf("its row is %q, want %q", got, want)
	}
}
