package fault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// ErrRefused is wrapped by the error of a request that was rejected.
var ErrRefused = errors.New("refused")

// Requests are messages like SONiC's notifications. They contain the operation, the channel for the answer, and the
// row of the fault. Redis delivers them even when it rejects writes.
const (
	opInject = "inject"
	opClear  = "clear"

	opDone    = "done"
	opRefused = "refused"

	answers = "TAMTAM_FAULT_ANSWER@"
)

func channel(daemon string) string { return "TAMTAM_FAULT@" + daemon }

// Daemons returns the daemons that may accept faults, in the order in which they are asked.
func Daemons() []string { return At(RedisEmpty) }

// Accepting returns the daemons that accept faults now.
func Accepting(ctx context.Context, r *swss.Redis) (accepting []string, err error) {
	var channels []string
	for _, daemon := range Daemons() {
		channels = append(channels, channel(daemon))
	}
	n, err := r.DB(swss.StateDB).Client().PubSubNumSub(ctx, channels...).Result()
	if err != nil {
		return nil, err
	}
	for _, daemon := range Daemons() {
		if n[channel(daemon)] > 0 {
			accepting = append(accepting, daemon)
		}
	}
	return accepting, nil
}

// Inject asks a daemon to inject a fault, and returns the fault once it is in force. If daemon is "", it asks the
// first daemon that accepts such a fault.
func Inject(ctx context.Context, r *swss.Redis, daemon string, f Fault) (Injected, error) {
	row := f.Row()
	if _, err := Parse(row); err != nil {
		return Injected{}, err
	}
	if daemon == "" {
		accepting, err := Accepting(ctx, r)
		if err != nil {
			return Injected{}, err
		}
		fit := slices.DeleteFunc(At(f.Kind), func(d string) bool { return !slices.Contains(accepting, d) })
		if len(fit) == 0 {
			return Injected{}, refusal(ctx, r, At(f.Kind))
		}
		daemon = fit[0]
	}
	id, fields, err := ask(ctx, r, daemon, opInject, swss.Pairs(row))
	if err != nil {
		return Injected{}, err
	}
	return parseInjected(daemon, id, swss.EncodeFields(fields))
}

// Clear ends all faults, and returns how many were in force, by daemon.
func Clear(ctx context.Context, r *swss.Redis) (map[string]int, error) {
	accepting, err := Accepting(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(accepting) == 0 {
		return nil, refusal(ctx, r, Daemons())
	}
	cleared := map[string]int{}
	var errs []error
	for _, daemon := range accepting {
		text, _, err := ask(ctx, r, daemon, opClear, nil)
		n, bad := strconv.Atoi(text)
		if err == nil && bad != nil {
			err = fmt.Errorf("%s: answer %.40q, want a number", daemon, text)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cleared[daemon] = n
	}
	return cleared, errors.Join(errs...)
}

// Check returns an error with the reason if no daemon accepts faults, nil if one does.
func Check(ctx context.Context, r *swss.Redis) error {
	accepting, err := Accepting(ctx, r)
	if err != nil || len(accepting) > 0 {
		return err
	}
	return refusal(ctx, r, Daemons())
}

// refusal returns an error that explains why none of the daemons accepts faults.
func refusal(ctx context.Context, r *swss.Redis, daemons []string) error {
	var not, gone []string
	health := swss.NewTable(r.DB(swss.StateDB), schema.StateHealth)
	for _, daemon := range daemons {
		_, heard, err := health.Get(ctx, daemon)
		switch {
		case err != nil:
			return err
		case heard:
			not = append(not, daemon)
		default:
			gone = append(gone, daemon)
		}
	}
	var why []string
	if len(not) > 0 {
		why = append(why, strings.Join(not, ", ")+": started without --allow-faults")
	}
	if len(gone) > 0 {
		why = append(why, strings.Join(gone, ", ")+": nothing was heard for 5 s")
	}
	return fmt.Errorf("%w: no daemon injects this fault (%s)", ErrRefused, strings.Join(why, "; "))
}

// ask sends a request and waits for the answer.
func ask(ctx context.Context, r *swss.Redis, daemon, op string, fields []swss.Pair) (string, []swss.Pair, error) {
	db, to := r.DB(swss.StateDB), answers+rand.Text()
	sub := db.Subscribe(ctx, to)
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return "", nil, err
	}
	heard, err := swss.NewNotificationProducer(db, channel(daemon)).Send(ctx, op, to, fields)
	if err != nil {
		return "", nil, err
	}
	if heard == 0 {
		return "", nil, refusal(ctx, r, []string{daemon})
	}
	for {
		msg, err := sub.Receive(ctx)
		if err != nil {
			return "", nil, fmt.Errorf("%s has not answered the request, so it is unknown whether it was done: %w", daemon, err)
		}
		m, ok := msg.(*redis.Message)
		if !ok {
			continue
		}
		answer, err := swss.DecodeFields(m.Payload)
		switch {
		case err != nil || len(answer) == 0:
			return "", nil, fmt.Errorf("%s: answer %.40q cannot be read", daemon, m.Payload)
		case answer[0].Field == opRefused:
			return "", nil, fmt.Errorf("%w: %s: %s", ErrRefused, daemon, answer[0].Value)
		case answer[0].Field == opDone:
			return answer[0].Value, answer[1:], nil
		}
		return "", nil, fmt.Errorf("%s: answer %.40q, want %s or %s", daemon, answer[0].Field, opDone, opRefused)
	}
}
