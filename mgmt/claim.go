package mgmt

import (
	"context"
	"errors"
	"time"

	"tamtam/swss"
	"tamtam/swss/tick"
)

// How often the server checks that the databases are still the claimed ones, and how long it waits for the response.
const (
	lookPeriod = time.Second
	lookLimit  = 3 * time.Second
)

// Databases returns the databases that the server reads; [Server.Live] gets a claim to all of them. CONFIG_DB, which
// the server writes, is the first.
func Databases() []swss.DBName {
	return []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB, swss.CountersDB}
}

// Refuse makes the server answer Unavailable for that reason; an empty reason admits clients again. Until the first
// call all are admitted. Open streams stay for a few seconds, and then end with the reason.
func (s *Server) Refuse(reason string) { s.gate.set(reason) }

// Live watches the databases until they are no longer those of the claim. It then returns the cause, which wraps
// [swss.ErrAnew]. It returns nil when ctx ends. Rows that were read before the call are read again. When the served
// data may differ from the databases, it calls report with the reason. When they agree again, it calls report with "".
func (s *Server) Live(ctx context.Context, claim *swss.Claim, report func(reason string)) error {
	s.hub.Distrust()
	s.claim.Store(claim)
	for {
		err := s.look(ctx, claim)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, swss.ErrReset):
			s.hub.Distrust()
			return err
		case err != nil:
			report(swss.Why(err))
		default:
			report("")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.After(lookPeriod):
		}
	}
}

// look returns an error if the databases are not those of the claim, or cannot be read. It also returns one if
// subscribers have not been notified of all earlier writes.
func (s *Server) look(ctx context.Context, claim *swss.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if err := claim.Check(ctx); err != nil {
		return err
	}
	return s.hub.Step(ctx)
}

// mine returns an error if CONFIG_DB was emptied or claimed by another server after this server claimed it. Data read
// meanwhile is then inconsistent.
func (s *Server) mine(ctx context.Context) error {
	claim := s.claim.Load()
	if claim == nil {
		return nil
	}
	return claim.Mine(ctx)
}
