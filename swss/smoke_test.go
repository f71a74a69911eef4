package swss_test

import (
	"context"
	"testing"
	"fmt"
	"time"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

func TestSmoke(t *testing.T) {
	for _, r := range []*swss.Redis{swsstest.Start(t), swsstest.StartServer(t).Open()} {
	ctx := context.Background()
	l := swss.NewListener(r)
	defer l.Close()
	c := swss.NewConsumerState(l, r.DB(swss.ApplDB), "T")
	s := swss.NewSubscriber(l, r.DB(swss.ConfigDB), "C")
	p := swss.NewProducerState(r.DB(swss.ApplDB), "T")
	if err := p.Set(ctx, "a", []swss.Pair{{"x", "1"}}); err != nil {
		t.Fatal(err)
	}
	out, err := c.Pops(ctx)
	fmt.Println(out, err)
	fmt.Println(s.Pops(ctx))
	ct := swss.NewTable(r.DB(swss.ConfigDB), "C")
	fmt.Println(ct.Set(ctx, "k", swss.FieldValues{"a": "b"}))
	fmt.Println(l.Sync(ctx))
	fmt.Println(s.Pops(ctx))
	const n = 30000
	rows := map[string]swss.FieldValues{}
	var prows []swss.Row
	for i := range n {
		k := fmt.Sprintf("key%05d", i)
		fv := swss.FieldValues{"status": "active", "reason": "", "by": "x"}
		rows[k] = fv
		prows = append(prows, swss.Row{k, swss.Pairs(fv)})
	}
	clock := func(what string, f func()) {
		t0 := time.Now()
		f()
		fmt.Println(what, time.Since(t0))
	}
	clock("table setmany", func() { fmt.Println(ct.SetMany(ctx, rows)) })
	clock("subscriber", func() { l.Sync(ctx); out, err := s.Pops(ctx); fmt.Println(len(out), err) })
	clock("dump", func() { out, err := ct.Dump(ctx); fmt.Println(len(out), err) })
	clock("prod setmany", func() { fmt.Println(p.SetMany(ctx, prows)) })
	clock("consumer", func() { l.Sync(ctx); out, err := c.Pops(ctx); fmt.Println(len(out), err) })
	clock("1000 sync", func() { for range 1000 { l.Sync(ctx) } })
	clock("1000 hset", func() { for range 1000 { ct.Set(ctx, "k", swss.FieldValues{"a": "b"}) } })
	clock("1000 script", func() { for range 1000 { p.Set(ctx, "k", []swss.Pair{{"x", "1"}}) } })
	}
}
