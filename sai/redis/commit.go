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

// commit writes the rows, takes the request out of the queue and sends the answer, as one transaction.
// As the backend has already changed, it tries until it succeeds. Where the reply to a transaction is
// lost, the journal tells whether it was executed, so that nothing is lost or done twice.
func (s *Server) commit(ctx context.Context, e swss.Peeked, r *protocol.Result) (err error) {
	m := protocol.Message{Key: r.Status.String(), Op: r.Op, Fields: r.Fields}
	failed := false
	defer func() {
		if failed && err == nil {
			s.tell("")
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
			push = s.answers.PushIn(ctx, p, m.Entry())
			return nil
		})
		if err == nil || swss.IsNoScript(push.Err()) || swss.IsMisuse(err) {
			s.journal.outcomes++ // all that could be executed was
			if err != nil {
				err = s.mend(ctx, cmds)
			}
			if swss.IsNoScript(push.Err()) && err == nil {
				err = s.answers.Push(ctx, m.Entry())
			}
			if err == nil {
				s.tell("") // it may have failed before
			}
			return err
		}
		failed = true
		s.tell(swss.Why(fmt.Errorf("write of a request's outcome: %w", err)))
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
			case errors.Is(err, swss.ErrAnew):
				return err
			case err == nil:
				again = true
			}
		}
	}
}

// mend deletes the keys that somebody has replaced by ones of another type, writes the maps of ids anew, and repeats
// the commands of an executed transaction that met one. Attributes that were in a row are lost: orchagent, whose mark
// is gone with them, makes its view again.
func (s *Server) mend(ctx context.Context, cmds []redis.Cmder) error {
	cmds = slices.DeleteFunc(cmds, func(c redis.Cmder) bool { return !swss.IsMisuse(c.Err()) })
	deleted, err := s.asic.Redis().Mend(ctx)
	if err != nil || len(deleted)+len(cmds) == 0 {
		return err
	}
	s.log.Error("syncd: keys of another type were deleted", "keys", deleted)
	if !s.begun {
		return s.processor.views.clean(ctx) // what is left of an earlier run is not enough to replay it
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
