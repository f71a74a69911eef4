package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// Error codes without a name in JetStream's Go client.
const (
	noPeers       = 10005 // no suitable peers for placement: a server of the cluster may be away
	notClustered  = 10074 // replicas > 1 not supported in non-clustered mode
	resources     = 10023 // insufficient resources
	inProcess     = 10158 // duplicate message id is in process: an earlier try may still succeed
	warnBehind    = 3 * time.Second
	warnAgain     = 30 * time.Second
	longestPause  = 250 * time.Millisecond
	shortestPause = time.Millisecond
)

// passes reports whether another try may succeed after this error.
func passes(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case noPeers, resources, inProcess:
			return true
		case notClustered, jetstream.JSErrCodeJetStreamNotEnabledForAccount, jetstream.JSErrCodeJetStreamNotEnabled:
			return false
		}
		return api.Code >= 500
	}
	var gone *stream.Gone
	if errors.As(err, &gone) {
		return false
	}
	for _, lasting := range []error{
		errDeleted,
		nats.ErrConnectionClosed, nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrMaxPayload, nats.ErrBadSubject,
		jetstream.ErrInvalidOption,
	} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return true
}

// errTrouble is logged by the server, once, and not by each caller that waits.
var errTrouble = errors.New("its folder cannot be written for now")

// try repeats an operation until it succeeds, fails permanently, or ctx ends.
func (l *Log) try(ctx context.Context, do func(context.Context) error) error {
	var p pause
	begin, warned := time.Now(), time.Time{}
	for {
		one, cancel := context.WithTimeout(ctx, oneTry)
		err := do(one)
		cancel()
		if err == nil || !passes(err) && ctx.Err() == nil {
			return err
		}
		if now := time.Now(); now.Sub(begin) > warnBehind && now.Sub(warned) > warnAgain && err != errTrouble {
			l.o.Logger.Warn("the log does not answer as wanted, and is asked again", "url", l.where, "error", err,
				"for", now.Sub(begin).Round(time.Second))
			warned = now
		}
		if ended := p.wait(ctx); ended != nil {
			return fmt.Errorf("%w: %w: %w", ended, stream.ErrAway, err)
		}
	}
}

// A pause doubles each time.
type pause struct{ next time.Duration }

// wait waits for the pause, or until ctx ends or one of the channels has a message.
func (p *pause) wait(ctx context.Context, wake ...<-chan *nats.Msg) error {
	p.next = min(max(2*p.next, shortestPause), longestPause)
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	var woken <-chan *nats.Msg
	if len(wake) > 0 {
		woken = wake[0]
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-woken:
		p.next = 0
	case <-timer.C:
	}
	return nil
}
