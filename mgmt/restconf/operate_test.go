package restconf

import (
	"context"
	"net/http"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Section 3.6.2: the result of an operation is its output. The test plays syncd.
func TestOperationWithOutput(t *testing.T) {
	b := newBed(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- answerTraces(ctx, b.redis) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	const request = "POST /restconf/operations/tamtam-operations:trace-packet"
	for b.do(request, `{"tamtam-operations:input":{"in":"Ethernet0"}}`).StatusCode == http.StatusServiceUnavailable {
	}
	b.check(step{request: request, body: `{"tamtam-operations:input":{"in":"Ethernet0","id":"a1"}}`, code: 200,
		want:  `{"tamtam-operations:output":{"id":"a1","trace":{"fate":"sent"}}}`,
		words: []string{"Content-Type: application/yang-data+json"}})
	b.check(step{request: request, body: `{"tamtam-operations:input":{"in":"Ethernet9"}}`, code: 400, tag: "invalid-value",
		words: []string{"there is no such port"}})
}

// answerTraces answers requests as syncd does, for a chip with one port.
func answerTraces(ctx context.Context, r *swss.Redis) error {
	l := swss.NewListener(r)
	defer l.Close()
	db := r.DB(swss.StateDB)
	requests := swss.NewNotificationConsumer(l, db, schema.PacketTraceChannel)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.Ready():
		}
		asked, _ := requests.Pops(ctx)
		for _, q := range asked {
			name := q.Key[len(schema.PacketTraceAnswers):]
			word, text := schema.PacketTraceDone, name
			if request := q.FieldValues()[schema.PacketTraceRequest]; request != `{"in":"Ethernet0"}` {
				word, text = schema.PacketTraceRefused, "there is no such port"
			}
			row := swss.FieldValues{schema.PacketTraceJSON: `{"fate":"sent"}`}
			if err := swss.NewTable(db, schema.StatePacketTrace).SetFor(ctx, name, row, schema.PacketTraceTTL); err != nil {
				return err
			}
			said := swss.EncodeFields([]swss.Pair{{Field: word, Value: text}})
			if err := db.Client().Publish(ctx, q.Key, said).Err(); err != nil {
				return err
			}
		}
	}
}
