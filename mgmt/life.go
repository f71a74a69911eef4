package mgmt

import (
	"context"
	"errors"
	"time"

	"tamtam/swss"
)

// How often the server asks whether the databases are what it knows of them, and how long it waits for an answer.
const (
	lookPeriod = time.Second
	lookLimit  = 3 * time.Second
)

// Databases returns those that the server reads: a claim to all of them goes to [Server.Live]. That to CONFIG_DB, which
// it writes, is the first.
func Databases() []swss.DBName {
	return []swss.DBName{swss.ConfigDB, swss.ApplDB, swss.StateDB, swss.CountersDB}
}

// Refuse makes the server answer Unavailable for that reason, "" lets clients in again. Without it nobody is refused.
// Subscribers that are there stay for a few seconds, and are then told.
func (s *Server) Refuse(reason string) { s.gate.set(reason) }

// Live looks after the databases until they are no longer what the server knows of them, and returns why (it has
// [swss.ErrAnew]), or until ctx ends. What was read before it began is read again. tell hears why what is served may
// not be what the databases say, and "" as soon as it is.
func (s *Server) Live(ctx context.Context, claim *swss.Claim, tell func(reason string)) error {
	s.hub.Distrust()
	s.claim.Store(claim)
	tick := time.NewTicker(lookPeriod)
	defer tick.Stop()
	for {
		err := s.look(ctx, claim)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, swss.ErrAnew):
			s.hub.Distrust()
			return err
		case err != nil:
			tell(swss.Why(err))
		default:
			tell("")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look fails if the databases are not what they were, cannot be read, or if subscribers have not got all that was
// written before.
func (s *Server) look(ctx context.Context, claim *swss.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if err := claim.Check(ctx); err != nil {
		return err
	}
	return s.hub.Step(ctx)
}

// mine fails if CONFIG_DB was emptied or taken by another server since it was claimed: what was read meanwhile is not
// of one instant.
func (s *Server) mine(ctx context.Context) error {
	claim := s.claim.Load()
	if claim == nil {
		return nil
	}
	return claim.Mine(ctx)
}
