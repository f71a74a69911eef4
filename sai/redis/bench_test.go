package sairedis

import (
	"context"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

func benchBoth(b *testing.B, f func(b *testing.B, r *swss.Redis)) {
	b.Run("embedded", func(b *testing.B) { f(b, swsstest.Start(b)) })
	b.Run("real", func(b *testing.B) {
		s := swsstest.StartServer(b)
		r, err := swss.Open(context.Background(), s.Addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { r.Close() })
		f(b, r)
	})
}

// benchTable returns a client with an ACL table.
func benchTable(b *testing.B, r *swss.Redis, entries int) (*Client, *Server, sai.OID) {
	ctx, cancel := context.WithCancel(context.Background())
	s := NewServer(r, saitest.New(saitest.Options{ACLEntries: entries}), ServerOptions{})
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	c := need(NewClient(ctx, r, ClientOptions{}))(b)
	if _, err := c.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true))); err != nil {
		b.Fatal(err)
	}
	table, err := c.Create(ctx, sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrFieldSrcIP, sai.Bool(true), sai.ACLTableAttrFieldL4DstPort, sai.Bool(true)))
	if err != nil {
		b.Fatal(err)
	}
	return c, s, table
}

func benchEntry(table sai.OID, i int) []sai.Attr {
	return attrs(sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(i%16000+1),
		sai.ACLEntryAttrAdminState, sai.Bool(true),
		sai.ACLEntryAttrFieldSrcIP, sai.Match(address("10.0.0.1"), address("255.255.255.255")),
		sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(i&0xffff), sai.Uint(0xffff)),
		sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionForward))
}

// One synchronous create after another.
func BenchmarkCreate(b *testing.B) {
	benchBoth(b, func(b *testing.B, r *swss.Redis) {
		c, _, table := benchTable(b, r, 1<<30)
		i := 0
		for b.Loop() {
			if _, err := c.Create(context.Background(), sai.ObjectTypeACLEntry, benchEntry(table, i)); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

// 10,000 ACL entries in bulk per iteration.
func BenchmarkBulkCreate10000(b *testing.B) {
	benchBoth(b, func(b *testing.B, r *swss.Redis) {
		c, _, table := benchTable(b, r, 1<<30)
		objs := make([][]sai.Attr, 10000)
		for i := range objs {
			objs[i] = benchEntry(table, i)
		}
		for b.Loop() {
			_, errs := c.BulkCreate(context.Background(), sai.ObjectTypeACLEntry, objs)
			for _, err := range errs {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// 10,000 ACL counters read into COUNTERS_DB per iteration.
func BenchmarkPoll10000(b *testing.B) {
	benchBoth(b, func(b *testing.B, r *swss.Redis) {
		ctx := context.Background()
		c, s, table := benchTable(b, r, 1<<30)
		objs := make([][]sai.Attr, 10000)
		for i := range objs {
			objs[i] = attrs(sai.ACLCounterAttrTableID, table)
		}
		oids, _ := c.BulkCreate(ctx, sai.ObjectTypeACLCounter, objs)
		on := true
		if err := c.SetCounterGroup(ctx, "ACL_STAT_COUNTER", CounterGroup{Interval: 1e9, Mode: flex.StatsModeRead,
			Enabled: &on}); err != nil {
			b.Fatal(err)
		}
		ids := []string{sai.ACLCounterAttrPackets.String(), sai.ACLCounterAttrBytes.String()}
		noError(b, c.StartPoll(ctx, "ACL_STAT_COUNTER", flex.FieldACLCounters, ids, oids...))
		for b.Loop() {
			noError(b, s.Counters.PollAll(ctx))
		}
	})
}

// INIT_VIEW, a view of 10,000 unchanged entries, APPLY_VIEW. The time is that of APPLY_VIEW.
func BenchmarkApplyView10000(b *testing.B) {
	benchBoth(b, func(b *testing.B, r *swss.Redis) {
		ctx, cancel := context.WithCancel(context.Background())
		s := NewServer(r, saitest.New(saitest.Options{ACLEntries: 1 << 30}), ServerOptions{TempView: true})
		done := make(chan struct{})
		go func() { defer close(done); s.Serve(ctx) }()
		b.Cleanup(func() { cancel(); <-done })
		objs := make([][]sai.Attr, 10000)
		make1 := func() *Client {
			c, err := NewClient(ctx, r, ClientOptions{})
			if err == nil {
				err = c.InitView(ctx)
			}
			if err == nil {
				_, err = c.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
			}
			if err != nil {
				b.Fatal(err)
			}
			table, err := c.Create(ctx, sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
			if err != nil {
				b.Fatal(err)
			}
			for i := range objs {
				objs[i] = benchEntry(table, i)
			}
			if _, errs := c.BulkCreate(ctx, sai.ObjectTypeACLEntry, objs); errs[9999] != nil {
				b.Fatal(errs[9999])
			}
			return c
		}
		noError(b, make1().ApplyView(ctx))
		for b.Loop() {
			b.StopTimer()
			c := make1()
			b.StartTimer()
			noError(b, c.ApplyView(ctx))
		}
	})
}
