package sairedis

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// PollCounters reads the counters of the groups that are due at now into
// COUNTERS_DB. A group is due when it is enabled, and then at its interval. It
// returns when the next one will be due; the zero time if none is enabled.
func (s *Server) PollCounters(ctx context.Context, now time.Time) (next time.Time, err error) {
	if err := s.popFlex(ctx); err != nil {
		return time.Time{}, err
	}
	for _, name := range s.groupNames() {
		due, pollErr := s.pollIfDue(ctx, name, now)
		err = errors.Join(err, pollErr)
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next, err
}

// PollAllCounters reads all counters of enabled groups, due or not.
func (s *Server) PollAllCounters(ctx context.Context) error {
	if err := s.popFlex(ctx); err != nil {
		return err
	}
	var err error
	for _, name := range s.groupNames() {
		s.mu.Lock()
		g := s.flex.groups[name]
		enabled := g != nil && g.enabled
		s.mu.Unlock()
		if enabled {
			err = errors.Join(err, s.pollGroup(ctx, name))
		}
	}
	return err
}

// RunTimers calls PollCounters at wall time until ctx ends.
func (s *Server) RunTimers(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		next, err := s.PollCounters(ctx, now)
		if err != nil && ctx.Err() == nil {
			s.log.Error("syncd: counters: " + err.Error())
		}
		wait := time.Second // a group may be made or enabled meanwhile
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), 10*time.Millisecond))
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (s *Server) groupNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.flex.groups))
}

// pollIfDue reads a group if it is due, and returns when it will be next.
func (s *Server) pollIfDue(ctx context.Context, name string, now time.Time) (time.Time, error) {
	s.mu.Lock()
	g := s.flex.groups[name]
	if g == nil || !g.enabled || g.interval == 0 {
		s.mu.Unlock()
		return time.Time{}, nil
	}
	due := !now.Before(g.next)
	if due {
		if g.next = g.next.Add(g.interval); !g.next.After(now) {
			g.next = now.Add(g.interval)
		}
	}
	next := g.next
	s.mu.Unlock()
	if !due {
		return next, nil
	}
	return next, s.pollGroup(ctx, name)
}

// pollSlice is the number of objects read before other requests get a turn.
const pollSlice = 1000

func (s *Server) pollGroup(ctx context.Context, name string) error {
	s.mu.Lock()
	var vids []sai.OID
	if g := s.flex.groups[name]; g != nil {
		vids = slices.SortedFunc(maps.Keys(g.counters), cmp.Compare[sai.OID])
	}
	s.mu.Unlock()
	for chunk := range slices.Chunk(vids, pollSlice) {
		if err := s.pollSome(ctx, name, chunk); err != nil {
			return err
		}
	}
	return nil
}

// pollSome reads objects of a group and writes their rows in one round trip.
func (s *Server) pollSome(ctx context.Context, name string, vids []sai.OID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.flex.groups[name]
	if g == nil {
		return nil
	}
	_, err := s.redis.DB(swss.CountersDB).Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, vid := range vids {
			c := g.counters[vid]
			if c == nil {
				continue
			}
			args, err := s.readCounters(ctx, vid, c, g.clear)
			if err != nil {
				s.log.Warn("syncd: counters", "group", name, "object", vid, "error", err)
				continue
			}
			if len(args) > 0 {
				p.HSet(ctx, "COUNTERS:"+vid.String(), args...)
			}
		}
		return nil
	})
	return err
}

// readCounters returns the fields of one object's row.
func (s *Server) readCounters(ctx context.Context, vid sai.OID, c *polled, clear bool) ([]any, error) {
	t, _ := VIDType(vid)
	k, err := s.ids.toRealKey(sai.Obj(t, vid))
	if err != nil {
		return nil, err
	}
	var args []any
	if len(c.attrs) > 0 {
		want := make([]sai.Attr, len(c.attrs))
		for i, id := range c.attrs {
			want[i] = sai.Want(id, 1)
		}
		got, err := s.backend.Get(ctx, k, want)
		if err != nil {
			return nil, err
		}
		for _, a := range got {
			text, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				return nil, err
			}
			args = append(args, a.ID.String(), text)
		}
	}
	if len(c.stats) > 0 {
		values, err := s.backend.Stats(ctx, k, c.stats)
		if err != nil {
			return nil, err
		}
		for i, id := range c.stats {
			args = append(args, id.String(), strconv.FormatUint(values[i], 10))
		}
		if clear {
			return args, s.backend.ClearStats(ctx, k, c.stats)
		}
	}
	return args, nil
}
