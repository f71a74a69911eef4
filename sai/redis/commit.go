package sairedis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// commitRetry is the wait between attempts to write an outcome.
const commitRetry = 200 * time.Millisecond

// commit writes the rows, removes the request from the queue and sends the answer, in one transaction. The backend
// has already changed, so commit retries until it succeeds. If the reply to a transaction is lost, the journal
// reveals whether it was executed. So nothing is lost or done twice.
func (s *Server) commit(ctx context.Context, e swss.Peeked, r *protocol.Result) (err error) {
	m := protocol.Message{Key: r.Status.String(), Op: r.Op, Fields: r.Fields}
	failed := false
	defer func() {
		if failed && err == nil {
			s.report("")
		}
	}()
	for {
		var push *redis.Cmd
		cmds, err := s.asic.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
			for _, w := range r.Writes {
				w(p)
			}
			r.WriteMaps(ctx, p)
			s.requests.DropIn(ctx, p, e)
			s.journal.note(ctx, p)
			if !r.Unanswered {
				push = s.answers.PushIn(ctx, p, m.Entry())
			}
			return nil
		})
		lost := push != nil && swss.IsNoScript(push.Err())
		if err == nil || lost || swss.IsMisuse(err) {
			s.journal.outcomes++ // all commands that could be executed have been executed
			if err != nil {
				err = s.mend(ctx, cmds)
			}
			if lost && err == nil {
				err = s.answers.Push(ctx, m.Entry())
			}
			if err == nil {
				s.report("") // end the report of an earlier failure
			}
			return err
		}
		failed = true
		s.report(swss.Why(fmt.Errorf("write of a request's outcome: %w", err)))
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(commitRetry):
			}
			written, err := s.journal.written(ctx)
			switch {
			case err == nil && written:
				s.journal.outcomes++
				return nil
			case errors.Is(err, swss.ErrReset):
				return err
			case err == nil:
				again = true
			}
		}
	}
}

// mend deletes keys of a wrong type, which another client must have written. It writes the maps of ids again. If
// commands of an executed transaction failed on such a key, it repeats them. Attributes that were in a deleted row are
// lost. orchagent detects that its mark is deleted too, and makes its view again.
func (s *Server) mend(ctx context.Context, cmds []redis.Cmder) error {
	cmds = slices.DeleteFunc(cmds, func(c redis.Cmder) bool { return !swss.IsMisuse(c.Err()) })
	deleted, err := s.asic.Redis().Mend(ctx)
	if err != nil || len(deleted)+len(cmds) == 0 {
		return err
	}
	s.log.Error("syncd: keys of another type were deleted", "keys", deleted)
	if !s.begun {
		return s.processor.views.clean(ctx) // the rest of an earlier run cannot be replayed
	}
	defaults := &protocol.Result{}
	if sw, there := s.processor.objects.IDs.RID(protocol.SwitchVID); there {
		s.processor.objects.NoteDefaults(ctx, defaults, sai.Obj(sai.ObjectTypeSwitch, sw))
	}
	_, err = s.asic.Client().TxPipelined(ctx, func(p redis.Pipeliner) error {
		s.journal.rewrite(ctx, p)
		noteView(ctx, p, s.processor.views.isMaking())
		s.processor.objects.Rewrite(ctx, p)
		for _, write := range defaults.Writes {
			write(p)
		}
		for _, cmd := range cmds {
			p.Do(ctx, cmd.Args()...)
		}
		return nil
	})
	return err
}
