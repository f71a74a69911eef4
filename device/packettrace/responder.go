package packettrace

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// mostWaiting is the maximum number of waiting requests, since each costs the chip time.
const mostWaiting = 16

// answerLimit bounds the time for one answer. Only a filter of drops may need so long.
const answerLimit = 5 * time.Second

// mostFilters is the maximum number of waiting filters, besides the one in progress. The last one is then answered
// before its client gives up.
const mostFilters = 2

// mostName is the largest length of the names of requests, in bytes.
const mostName = 200

// A responder answers requests about a chip.
type responder struct {
	redis    *swss.Redis
	chip     *saisim.Chip
	log      *slog.Logger
	listener *swss.Listener
	requests *swss.NotificationConsumer
	settings *swss.Subscriber // subscribes to the switch's row
	asks     map[string]asked
}

func newResponder(r *swss.Redis, chip *saisim.Chip, log *slog.Logger) *responder {
	b := &fateReader{names: map[config.ID]string{}}
	d := &responder{redis: r, chip: chip, log: log, listener: swss.NewListener(r)}
	d.asks = map[string]asked{schema.PacketTraceAsk: traced, schema.WhyFlowAsk: b.whyFlow, schema.DropsAsk: b.drops}
	d.requests = swss.NewNotificationConsumer(d.listener, r.DB(swss.StateDB), schema.PacketTraceChannel)
	d.settings = swss.NewSubscriber(d.listener, r.DB(swss.ApplDB), schema.AppTAMSwitch)
	return d
}

// Serve answers requests about a chip until ctx ends. Requests sent while Redis is away are lost, and so would be
// their answers.
func Serve(ctx context.Context, r *swss.Redis, chip *saisim.Chip, log *slog.Logger) error {
	d := newResponder(r, chip, log)
	defer d.listener.Close()
	d.serve(ctx)
	return nil
}

// Start acts like [Serve], but runs in the background until stopped. All requests sent after its return are answered.
func Start(ctx context.Context, r *swss.Redis, chip *saisim.Chip, log *slog.Logger) (stop func(), err error) {
	return newResponder(r, chip, log).start(ctx)
}

func (d *responder) start(ctx context.Context) (stop func(), err error) {
	if err := d.listener.Sync(ctx); err != nil {
		d.listener.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.serve(ctx)
	}()
	return func() {
		cancel()
		<-done
		d.listener.Close()
	}, nil
}

// serve answers requests until ctx ends. Filters of drops are answered one after another beside all other requests,
// which therefore never wait for a slow filter.
func (d *responder) serve(ctx context.Context) {
	filters, done := make(chan swss.KeyOpFieldsValues, mostFilters), make(chan struct{})
	go func() {
		defer close(done)
		for q := range filters {
			d.answer(ctx, q, d.asks[q.Op])
		}
	}()
	defer func() {
		close(filters)
		<-done
	}()
	for {
		d.keepAsConfigured(ctx)
		asked, _ := d.requests.Pops(ctx) // Pops never fails here
		for i, q := range asked {
			switch {
			case i >= mostWaiting:
				d.answer(ctx, q, busy("%d requests", mostWaiting))
			case hasFilter(q):
				select {
				case filters <- q:
				default:
					d.answer(ctx, q, busy("%d filters of drops", mostFilters))
				}
			default:
				d.answer(ctx, q, d.asks[q.Op])
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-d.listener.Ready():
		}
	}
}

// keepAsConfigured makes the chip keep the packets that the switch's row selects. Without a valid row, the chip keeps
// drops.
func (d *responder) keepAsConfigured(ctx context.Context) {
	rows, err := d.settings.Pops(ctx)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("which packets to keep is not known", "error", err)
	}
	for _, row := range rows {
		if row.Key == schema.TAMGlobalKey {
			s, err := schema.ParseTAMSwitchInUse(row.Key, row.FieldValues())
			d.chip.WatchAll(err == nil && s.KeepAll)
		}
	}
}

// An asked is a function that answers a request.
type asked func(context.Context, *swss.Redis, *saisim.Chip, string) ([]byte, error)

// busy returns a function that refuses a request, since so many wait already.
func busy(format string, n int) asked {
	return func(context.Context, *swss.Redis, *saisim.Chip, string) ([]byte, error) {
		return nil, fmt.Errorf(format+" wait already: try again", n)
	}
}

// hasFilter reports whether a request is one for drops with a filter.
func hasFilter(q swss.KeyOpFieldsValues) bool {
	var r DropsRequest
	return q.Op == schema.DropsAsk && decode(q.FieldValues()[schema.PacketTraceRequest], &r) == nil && r.Where != ""
}

// answer answers one request. It logs an error if the answer cannot be written.
func (d *responder) answer(ctx context.Context, q swss.KeyOpFieldsValues, ask asked) {
	if err := answer(ctx, d.redis, d.chip, q, ask); err != nil && ctx.Err() == nil {
		d.log.Warn("a packet trace is not answered", "error", err)
	}
}

// answer answers one request.
func answer(ctx context.Context, r *swss.Redis, chip *saisim.Chip, q swss.KeyOpFieldsValues, ask asked) error {
	name, ok := strings.CutPrefix(q.Key, schema.PacketTraceAnswers)
	if !ok || name == "" || len(name) > mostName || strings.ContainsAny(name, "|: ") || ask == nil {
		return nil // no client can wait for the answer
	}
	say := func(word, text string) error {
		fields := []swss.Pair{{Field: word, Value: text}}
		return r.DB(swss.StateDB).Client().Publish(ctx, q.Key, swss.EncodeFields(fields)).Err()
	}
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	text, err := ask(limited, r, chip, q.FieldValues()[schema.PacketTraceRequest])
	if err != nil {
		return say(schema.PacketTraceRefused, err.Error())
	}
	rows := swss.NewTable(r.DB(swss.StateDB), schema.StatePacketTrace)
	row := swss.FieldValues{schema.PacketTraceJSON: string(text)}
	if err := rows.SetFor(ctx, name, row, schema.PacketTraceTTL); err != nil {
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
