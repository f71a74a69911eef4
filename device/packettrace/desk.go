package packettrace

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/schema"
	"tamtam/swss"
)

// mostWaiting is how many requests may wait: each takes the chip's time.
const mostWaiting = 16

// mostName bounds the names of requests, in bytes.
const mostName = 200

// Serve answers requests about a chip until ctx ends. A request that comes while Redis is away is lost, as its answer
// would be.
func Serve(ctx context.Context, r *swss.Redis, chip *saisim.Chip, log *slog.Logger) error {
	b := &book{names: map[config.ID]string{}}
	asks := map[string]asked{schema.PacketTraceAsk: traced, schema.WhyFlowAsk: b.whyFlow, schema.DropsAsk: b.drops}
	l := swss.NewListener(r)
	defer l.Close()
	requests := swss.NewNotificationConsumer(l, r.DB(swss.StateDB), schema.PacketTraceChannel)
	settings := swss.NewSubscriber(l, r.DB(swss.ApplDB), schema.AppTAMSwitch)
	for {
		keepAsTold(ctx, chip, settings, log)
		asked, _ := requests.Pops(ctx) // it never fails
		for i, q := range asked {
			ask := asks[q.Op]
			if i >= mostWaiting {
				ask = busy
			}
			if err := answer(ctx, r, chip, q, ask); err != nil && ctx.Err() == nil {
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

// keepAsTold has the chip keep those packets that the switch's row says. Without a row, or one that can be read, it
// keeps drops.
func keepAsTold(ctx context.Context, chip *saisim.Chip, settings *swss.Subscriber, log *slog.Logger) {
	rows, err := settings.Pops(ctx)
	if err != nil && ctx.Err() == nil {
		log.Warn("which packets to keep is not known", "error", err)
	}
	for _, row := range rows {
		if row.Key != schema.TAMGlobalKey {
			continue
		}
		s, err := schema.ParseTAMSwitchInUse(row.Key, row.FieldValues())
		chip.WatchAll(err == nil && s.KeepAll)
	}
}

// An asked says what becomes of a request.
type asked func(context.Context, *swss.Redis, *saisim.Chip, string) ([]byte, error)

func busy(context.Context, *swss.Redis, *saisim.Chip, string) ([]byte, error) {
	return nil, fmt.Errorf("%d requests wait already", mostWaiting)
}

// answer answers one request.
func answer(ctx context.Context, r *swss.Redis, chip *saisim.Chip, q swss.KeyOpFieldsValues, ask asked) error {
	name, ok := strings.CutPrefix(q.Key, schema.PacketTraceAnswers)
	if !ok || name == "" || len(name) > mostName || strings.ContainsAny(name, "|: ") || ask == nil {
		return nil // nobody waits for it
	}
	say := func(word, text string) error {
		fields := []swss.Pair{{Field: word, Value: text}}
		return r.DB(swss.StateDB).Client().Publish(ctx, q.Key, swss.EncodeFields(fields)).Err()
	}
	text, err := ask(ctx, r, chip, q.FieldValues()[schema.PacketTraceRequest])
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
