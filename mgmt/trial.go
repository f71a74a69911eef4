package mgmt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tamtam/mgmt/configfile"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A trial is a commit that is undone unless it is confirmed in time: the switch goes back to a configuration of the
// archive. There is one at most. It is in a file, so that it ends also if the server does not live to see it.
//
// gNMI's extension (gnmi-commit-confirmed) begins one by a Set, and then no other Set is taken. The operation commit
// begins one whose way back is the last configuration that was started with, saved or committed; Sets go on, as the
// shell has no other way to change anything.
type trial struct {
	ID    string    `json:"id"` // the client's; "": of the operation commit
	Until time.Time `json:"until"`
	Back  uint64    `json:"back"` // number in the archive
	User  string    `json:"user"`

	stop chan struct{} // closed when the trial ends otherwise
}

// back is what may not leave the archive.
func (t *trial) back() uint64 {
	if t == nil {
		return math.MaxUint64
	}
	return t.Back
}

// Bounds of the time that is left to confirm.
const (
	trialDefault = 10 * time.Minute // gNMI's
	trialLeast   = time.Second
	trialMost    = 24 * time.Hour
)

func trialFor(d time.Duration) (time.Duration, error) {
	if d < trialLeast || d > trialMost {
		return 0, status.Errorf(codes.InvalidArgument, "time to confirm of %s: want %s to %s", d, trialLeast, trialMost)
	}
	return d, nil
}

func (s *keeping) trialFile() string { return filepath.Join(s.cfg.Keep, "unconfirmed.json") }

// A commitInput is that of the operation commit.
type commitInput struct {
	Comment   string  `json:"comment"`
	Confirmed *uint32 `json:"confirmed"` // seconds
}

// commit makes what is running a configuration to come back to, and confirms what was not confirmed; with a time it
// is only on trial.
func (s *keeping) commit(ctx context.Context, who string, in commitInput) error {
	if s.cfg.Keep == "" {
		return errNotKept
	}
	if t := s.trial; t != nil && t.ID != "" {
		return fmt.Errorf("commit %q of %s waits to be confirmed by gNMI", t.ID, t.User)
	}
	if in.Confirmed != nil {
		return s.commitOnTrial(who, time.Duration(*in.Confirmed)*time.Second)
	}
	rows, err := s.stored(ctx)
	if err != nil {
		return err
	}
	if err := s.keep(who, keptCommit, in.Comment, rows); err != nil {
		return err
	}
	s.endTrial()
	return nil
}

// commitOnTrial begins a trial, or gives the one that there is another end.
func (s *keeping) commitOnTrial(who string, d time.Duration) error {
	d, err := trialFor(d)
	if err != nil {
		return err
	}
	if s.trial != nil {
		return s.beginTrial(trial{Until: s.now().Add(d), Back: s.trial.Back, User: who})
	}
	notes, err := s.archive().List()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(notes, func(n configfile.Note) bool { return slices.Contains(settled, n.Kind) })
	if i < 0 {
		return errors.New("nothing was committed yet: there is nothing to come back to")
	}
	return s.beginTrial(trial{Until: s.now().Add(d), Back: notes[i].Seq, User: who})
}

// beginTrial lets a trial run. The caller holds setting.
func (s *keeping) beginTrial(t trial) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = configfile.Write(s.trialFile(), bytes.NewReader(text), 0o600)
	}
	if err != nil {
		return err
	}
	s.runTrial(t)
	return nil
}

// runTrial lets a trial run that is on the disk.
func (s *keeping) runTrial(t trial) {
	if s.trial != nil {
		close(s.trial.stop)
	}
	t.stop = make(chan struct{})
	s.trial = &t
	s.onTrial.Store(&t)
	go s.awaitTrial(&t, s.after(t.Until.Sub(s.now())))
}

// awaitTrial undoes a trial when its time is over.
func (s *keeping) awaitTrial(t *trial, over <-chan time.Time) {
	select {
	case <-t.stop:
		return
	case <-s.closed:
		return
	case <-over:
	}
	for s.undo(t) != nil {
		select { // the databases cannot be written, for now
		case <-s.closed:
			return
		case <-t.stop:
			return
		case <-s.after(undoAgain):
		}
	}
}

// undoAgain is how long a trial that could not be undone waits for the next attempt.
const undoAgain = time.Second

// undo takes the configuration back that a trial began with, if it is still the trial.
func (s *keeping) undo(t *trial) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.trial != t {
		return nil
	}
	err := s.undoLocked(context.Background(), t, "nobody confirmed it in time")
	s.guard.trail.did(context.Background(), "undo of an unconfirmed commit", nil, "of "+t.User, err)
	return err
}

// undoLocked takes it back, whether or not what is undone can be kept. A trial whose way back is not there, or cannot
// be read, is over: another attempt finds no other.
func (s *keeping) undoLocked(ctx context.Context, t *trial, why string) error {
	_, rows, err := s.archive().Load(t.Back)
	if err != nil {
		s.log.Error("an unconfirmed commit is not undone: the configuration to go back to cannot be read", "user", t.User,
			"error", err)
		s.endTrial()
		return fmt.Errorf("nothing was changed: the configuration to go back to cannot be read: %w", err)
	}
	err = s.replaceRows(ctx, rows, func(was configfile.Rows) error {
		if err := s.keep(t.User, keptBefore, why, was); err != nil {
			s.log.Error("what is undone cannot be kept", "user", t.User, "error", err)
		}
		return nil
	})
	if err != nil {
		s.log.Error("an unconfirmed commit cannot be undone", "user", t.User, "error", err)
		return err
	}
	s.endTrial()
	s.log.Warn("an unconfirmed commit was undone", "user", t.User, "why", why)
	return nil
}

// endTrial forgets the trial. The caller holds setting.
func (s *keeping) endTrial() {
	if s.trial == nil {
		return
	}
	close(s.trial.stop)
	s.trial = nil
	s.onTrial.Store(nil)
	if err := os.Remove(s.trialFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("the end of an unconfirmed commit is not on the disk", "error", err)
	}
}

// cancelCommit undoes the trial now.
func (s *keeping) cancelCommit(ctx context.Context, _ string, _ struct{}) error {
	if s.trial == nil {
		return errors.New("no commit waits to be confirmed")
	}
	return s.undoLocked(ctx, s.trial, "it was cancelled")
}

// resumeTrial takes up a trial that an earlier server began. One whose changes were not saved is over if the switch
// was started anew: they are gone. One that was over while no server ran is undone at once, and again and again as
// long as the databases cannot be written. The caller holds setting.
func (s *keeping) resumeTrial(ctx context.Context, fresh bool) error {
	text, err := os.ReadFile(s.trialFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var t trial
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if fresh {
		s.log.Warn("a commit was not confirmed before the end of the switch: it started without it", "user", t.User)
		return os.Remove(s.trialFile())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", s.trialFile(), err), os.Remove(s.trialFile()))
	}
	if s.now().Before(t.Until) {
		s.runTrial(t)
		return nil
	}
	t.stop = make(chan struct{})
	s.trial = &t
	s.onTrial.Store(&t)
	if s.undoLocked(ctx, &t, "nobody confirmed it in time") != nil && s.trial != nil {
		go s.awaitTrial(&t, s.after(undoAgain))
	}
	return nil
}

// commitExtension returns that of gNMI's commit-confirmed; nil: there is none.
func commitExtension(exts []*gnmi_ext.Extension) *gnmi_ext.Commit {
	for _, e := range exts {
		if c := e.GetCommit(); c != nil {
			return c
		}
	}
	return nil
}

// confirmable does what the extension of a Set asks for, before the Set is done, and returns what begins the trial
// when it was. The caller holds setting.
func (s *keeping) confirmable(ctx context.Context, req *gpb.SetRequest) (begin func() error, done bool, err error) {
	ext := commitExtension(req.GetExtension())
	if ext == nil {
		if t := s.trial; t != nil && t.ID != "" {
			return nil, false, status.Errorf(codes.FailedPrecondition,
				"commit %q of %s waits to be confirmed until %s: no other Set is taken", t.ID, t.User,
				t.Until.Format(time.RFC3339))
		}
		return nil, false, nil
	}
	changes := len(req.GetUpdate()) + len(req.GetReplace()) + len(req.GetDelete())
	switch {
	case s.cfg.Keep == "":
		return nil, false, status.Errorf(codes.Unimplemented, "extension commit: %v", errNotKept)
	case ext.GetId() == "":
		return nil, false, status.Error(codes.InvalidArgument, "extension commit: id is missing")
	case ext.GetCommit() != nil:
		begin, err = s.commitBySet(ctx, ext)
		return begin, false, err
	case ext.GetAction() == nil:
		return nil, false, status.Error(codes.InvalidArgument, "extension commit: action is missing")
	case s.trial == nil || s.trial.ID == "":
		return nil, false, status.Error(codes.FailedPrecondition, "extension commit: no commit waits to be confirmed")
	case s.trial.ID != ext.GetId():
		return nil, false, status.Errorf(codes.InvalidArgument,
			"extension commit: id is %q, want that of the commit that waits", ext.GetId())
	case changes > 0:
		return nil, false, status.Error(codes.InvalidArgument, "extension commit: want a Set without changes")
	}
	return nil, true, s.settleTrial(ctx, ext)
}

// settleTrial confirms or cancels the trial, or gives it another end.
func (s *keeping) settleTrial(ctx context.Context, ext *gnmi_ext.Commit) error {
	t := s.trial
	switch {
	case ext.GetConfirm() != nil:
		rows, err := s.stored(ctx)
		if err != nil {
			return err
		}
		if err := s.keep(userOf(ctx), keptCommit, "", rows); err != nil {
			return err
		}
		s.endTrial()
		return nil
	case ext.GetCancel() != nil:
		return s.undoLocked(ctx, t, "it was cancelled")
	}
	d, err := trialFor(ext.GetSetRollbackDuration().GetRollbackDuration().AsDuration())
	if err != nil {
		return err
	}
	return s.beginTrial(trial{ID: t.ID, Until: s.now().Add(d), Back: t.Back, User: t.User})
}

// commitBySet keeps what is running, and returns what begins the trial behind the Set.
func (s *keeping) commitBySet(ctx context.Context, ext *gnmi_ext.Commit) (func() error, error) {
	if t := s.trial; t != nil {
		return nil, status.Errorf(codes.FailedPrecondition,
			"extension commit: one of %s waits to be confirmed already", t.User)
	}
	d := trialDefault
	if given := ext.GetCommit().GetRollbackDuration(); given != nil {
		var err error
		if d, err = trialFor(given.AsDuration()); err != nil {
			return nil, err
		}
	}
	rows, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	note := configfile.Note{
		Time: s.now().UTC(), User: userOf(ctx), Kind: keptBefore, Comment: "before commit " + ext.GetId(),
	}
	seq, err := s.archive().Add(note, rows, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return func() error {
		return s.beginTrial(trial{ID: ext.GetId(), Until: s.now().Add(d), Back: seq, User: userOf(ctx)})
	}, nil
}
