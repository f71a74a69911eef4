package packettrace

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A slow filter of drops delays no other request. Further filters wait for it, and those beyond are refused.
func TestSlowFilterDelaysNoOtherRequest(t *testing.T) {
	r := swsstest.Start(t)
	d := newResponder(r, nil, slog.New(slog.DiscardHandler))
	began, end := make(chan struct{}, 4), make(chan struct{})
	at := func(_ context.Context, _ *swss.Redis, _ *saisim.Chip, request string) ([]byte, error) {
		if strings.Contains(request, "where") {
			began <- struct{}{}
			<-end
		}
		return []byte("{}"), nil
	}
	d.asks[schema.DropsAsk], d.asks[schema.WhyFlowAsk], d.asks[schema.PacketTraceAsk] = at, at, at
	stop, err := d.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	db := r.DB(swss.StateDB)
	requests := swss.NewNotificationProducer(db, schema.PacketTraceChannel)
	send := func(id, ask, request string) (answer func() string) {
		sub := db.Subscribe(t.Context(), schema.PacketTraceAnswers+id)
		t.Cleanup(func() { _ = sub.Close() })
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		fields := []swss.Pair{{Field: schema.PacketTraceRequest, Value: request}}
		if n, err := requests.Send(t.Context(), ask, schema.PacketTraceAnswers+id, fields); err != nil || n != 1 {
			t.Fatalf("%d receivers, %v", n, err)
		}
		return func() string {
			msg, err := sub.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fields, err := swss.DecodeFields(msg.(*redis.Message).Payload)
			if err != nil || len(fields) == 0 {
				t.Fatalf("%v: %v", msg, err)
			}
			return fields[0].Field + " " + fields[0].Value
		}
	}
	const filter = `{"where":"bytes > 64"}`
	slow := send("slow", schema.DropsAsk, filter)
	<-began
	for id, ask := range map[string]string{"drops": schema.DropsAsk, "flow": schema.WhyFlowAsk,
		"trace": schema.PacketTraceAsk} {
		if got, want := send(id, ask, `{"last":1}`)(), schema.PacketTraceDone+" "+id; got != want {
			t.Errorf("beside a slow filter: %q, want %q", got, want)
		}
	}
	second, third := send("second", schema.DropsAsk, filter), send("third", schema.DropsAsk, filter)
	refused := send("fourth", schema.DropsAsk, filter)()
	if want := schema.PacketTraceRefused + " 2 filters of drops wait already: try again"; refused != want {
		t.Errorf("%q, want %q", refused, want)
	}
	close(end)
	for id, answer := range map[string]func() string{"slow": slow, "second": second, "third": third} {
		if got, want := answer(), schema.PacketTraceDone+" "+id; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Names of deleted objects are remembered while several requests are answered at a time.
func TestNamesAreRemembered(t *testing.T) {
	b := &fateReader{names: map[config.ID]string{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.remember(map[config.ID]string{1: "EDGE|RULE_1"})
	}()
	b.remember(map[config.ID]string{2: "EDGE|RULE_2"})
	<-done
	n := &names{was: b}
	if got := n.name(1) + ", " + n.name(2); got != "EDGE|RULE_1 (gone), EDGE|RULE_2 (gone)" {
		t.Errorf("%q", got)
	}
}
