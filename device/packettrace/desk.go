package packettrace

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"tamtam/saisim"
	"tamtam/schema"
	"tamtam/swss"
)

// mostName bounds the names of requests, in bytes.
const mostName = 200

// Serve answers requests about a chip until ctx ends. A request that comes while Redis is away is lost, as its answer
// would be.
func Serve(ctx context.Context, r *swss.Redis, chip *saisim.Chip, log *slog.Logger) error {
	l := swss.NewListener(r)
	defer l.Close()
	requests := swss.NewNotificationConsumer(l, r.DB(swss.StateDB), schema.PacketTraceChannel)
	for {
		asked, _ := requests.Pops(ctx) // it never fails
		for _, q := range asked {
			if err := answer(ctx, r, chip, q); err != nil && ctx.Err() == nil {
				log.Warn("a packet trace is not answered", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.Ready():
		}
	}
}

// answer answers one request.
func answer(ctx context.Context, r *swss.Redis, chip *saisim.Chip, q swss.KeyOpFieldsValues) error {
	name, ok := strings.CutPrefix(q.Key, schema.PacketTraceAnswers)
	if !ok || name == "" || len(name) > mostName || strings.ContainsAny(name, "|: ") || q.Op != schema.PacketTraceAsk {
		return nil // nobody waits for it
	}
	say := func(word, text string) error {
		fields := []swss.Pair{{Field: word, Value: text}}
		return r.DB(swss.StateDB).Client().Publish(ctx, q.Key, swss.EncodeFields(fields)).Err()
	}
	text, err := traced(ctx, r, chip, q.FieldValues()[schema.PacketTraceRequest])
	if err != nil {
		return say(schema.PacketTraceRefused, err.Error())
	}
	rows := swss.NewTable(r.DB(swss.StateDB), schema.StatePacketTrace)
	row := swss.FieldValues{schema.PacketTraceJSON: string(text)}
	if err := rows.SetFor(ctx, name, row, schema.PacketTraceLife); err != nil {
		return err
	}
	return say(schema.PacketTraceDone, name)
}

func traced(ctx context.Context, r *swss.Redis, chip *saisim.Chip, request string) ([]byte, error) {
	q, err := ParseRequest([]byte(request))
	if err != nil {
		return nil, err
	}
	a, err := Of(ctx, r, chip, q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(a)
}
