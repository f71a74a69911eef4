package mgmt

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ping and traceroute are checked before the host receives them. An operator may request them, a reader may not.
func TestPingRequests(t *testing.T) {
	b := staffed(t, "")
	for _, tt := range []struct {
		user, operation, input string
		code                   codes.Code
		want                   string
	}{
		{"root", "ping", `{}`, codes.InvalidArgument, "destination is missing"},
		{"root", "ping", `{"destination":"leaf1"}`, codes.InvalidArgument,
			`destination is "leaf1", want an IPv4 or IPv6 address`},
		{"root", "ping", `{"destination":"10.0.0.1","id":"a|b"}`, codes.InvalidArgument, "want 1 to 64 letters, digits"},
		{"root", "traceroute", `{"destination":"10.0.0.1","max-hops":65}`, codes.InvalidArgument,
			"max-hops is 65, want 1 to 64"},
		{"root", "ping", `{"destination":"10.0.0.1"}`, codes.Unavailable,
			"ping: no answer: neither hostd nor hostifd is running"},
		{"op", "traceroute", `{"destination":"10.0.0.1"}`, codes.Unavailable, "neither hostd nor hostifd is running"},
		{"guest", "ping", `{"destination":"10.0.0.1"}`, codes.PermissionDenied, "/operations/ping"},
	} {
		_, err := b.server.Operate(b.as(tt.user), tt.operation, []byte(tt.input))
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s %s: %v, want %s, %s", tt.user, tt.operation, tt.input, err, tt.code, tt.want)
		}
	}
}

// The output of a ping is the host's answer. The end of its client ends a ping at the host.
func TestPingIsAnsweredAndEnded(t *testing.T) {
	b := newBed(t, func(*Config) {})
	l := swss.NewListener(b.redis)
	defer l.Close()
	db := b.redis.DB(swss.StateDB)
	requests := swss.NewNotificationConsumer(l, db, schema.PingChannel)
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := func() swss.KeyOpFieldsValues {
		t.Helper()
		for {
			if all, _ := requests.Pops(t.Context()); len(all) > 0 {
				return all[0]
			}
			select {
			case <-l.Ready():
			case <-time.After(time.Minute):
				t.Fatal("no request comes")
			}
		}
	}
	type result struct {
		output []byte
		err    error
	}
	done := make(chan result, 1)
	operate := func(ctx context.Context, id string) {
		output, err := b.server.Operate(ctx, "ping", []byte(`{"id":"`+id+`","destination":"10.0.0.5","count":1000}`))
		done <- result{output, err}
	}
	go operate(t.Context(), "a")
	q := next()
	if q.Op != schema.PingAsk || q.Key != schema.PacketTraceAnswers+"a" ||
		q.FieldValues()[schema.PacketTraceRequest] != `{"count":1000,"destination":"10.0.0.5"}` {
		t.Errorf("asked %+v", q)
	}
	row := swss.FieldValues{schema.PacketTraceJSON: `{"sent":1000}`}
	rows := swss.NewTable(db, schema.StatePacketTrace)
	if err := rows.SetFor(t.Context(), "a", row, schema.PacketTraceTTL); err != nil {
		t.Fatal(err)
	}
	said := swss.EncodeFields([]swss.Pair{{Field: schema.PacketTraceDone, Value: "a"}})
	if err := db.Client().Publish(t.Context(), q.Key, said).Err(); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || string(r.output) != `{"id":"a","answer":{"sent":1000}}` {
		t.Errorf("%s, %v", r.output, r.err)
	}

	ctx, end := context.WithCancel(t.Context())
	go operate(ctx, "b")
	next()
	end()
	if q := next(); q.Op != schema.PingCancel || q.Key != schema.PacketTraceAnswers+"b" {
		t.Errorf("after the client's end: %+v", q)
	}
	if r := <-done; status.Code(r.err) != codes.Canceled {
		t.Errorf("an operation whose client has ended returns %s, %v", r.output, r.err)
	}
}
