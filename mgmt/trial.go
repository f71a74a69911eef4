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

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/configfile"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A unconfirmedCommit is a commit that is undone unless it is confirmed in time. Its rows then return to their content
// in a configuration of the archive. At most one exists. It is stored in a file, so that it ends even if the server
// restarts meanwhile.
//
// gNMI's extension (gnmi-commit-confirmed) begins one by a Set. Another Set that writes a row of it is refused until it
// ends. The operation commit begins one that restores the last configuration that was started with, saved or committed.
// Later Sets of the same user then belong to the trial, as the shell has no other means to change anything.
//
// The end of a trial changes only rows that its user may change: see [archiver.reverted].
type unconfirmedCommit struct {
	ID    string      `json:"id"` // the client's id; empty for the operation commit
	Began time.Time   `json:"began"`
	Until time.Time   `json:"until"`
	Back  uint64      `json:"back"` // archive number of the configuration to return to
	User  string      `json:"user"`
	Role  access.Role `json:"role"`

	// Own holds, by TABLE|key, digests of the row after the last write by the trial's user, or at the start of the
	// trial. There are two digests while the outcome of a Set is unknown. A row that is not in Own has its content of
	// the archived configuration.
	Own map[string][]string `json:"own"`
	// Others holds, by TABLE|key, the name of another user that changed the row since.
	Others map[string]string `json:"others"`

	begins bool            // the Set of the trial is not done yet
	back   configfile.Rows // the configuration to go back to; nil until it is read
	stop   chan struct{}   // closed when the trial ends before its time is over
}

// holds returns the number of the configuration that must stay in the archive.
func (t *unconfirmedCommit) holds() uint64 {
	if t == nil {
		return math.MaxUint64
	}
	return t.Back
}

// Bounds of the time to confirm.
const (
	trialDefault = 10 * time.Minute // default of gNMI
	trialLeast   = time.Second
	trialMost    = 24 * time.Hour // maximum for an admin
	trialOfRoles = time.Hour      // maximum for other roles, in total, however often the trial is extended
)

// trialFor checks the time to confirm that a caller requests. ago is the time since the trial began.
func trialFor(ctx context.Context, d, ago time.Duration) (time.Duration, error) {
	c, most := auth.CallerOf(ctx), trialMost
	if c.View != nil {
		most = trialOfRoles - ago
	}
	switch {
	case d >= trialLeast && d <= most:
		return d, nil
	case c.View == nil:
		return 0, status.Errorf(codes.InvalidArgument, "time to confirm of %s: want %s to %s", d, trialLeast, most)
	case most < trialLeast:
		return 0, status.Errorf(codes.InvalidArgument,
			"time to confirm of %s: the commit waits for %s already, and role %s has %s in all: confirm or cancel it",
			d, ago, c.Role, trialOfRoles)
	}
	return 0, status.Errorf(codes.InvalidArgument,
		"time to confirm of %s: want %s to %s, which is what role %s has left", d, trialLeast, most, c.Role)
}

func (s *archiver) trialFile() string { return filepath.Join(s.cfg.Keep, "unconfirmed.json") }

// A commitInput is the input of the operation commit.
type commitInput struct {
	Comment   string  `json:"comment"`
	Confirmed *uint32 `json:"confirmed"` // seconds
}

// commit archives the running configuration as one to go back to, and confirms an unconfirmed commit. With a time to
// confirm, it starts a trial instead.
func (s *archiver) commit(ctx context.Context, who string, in commitInput) error {
	if s.cfg.Keep == "" {
		return errNotKept
	}
	if t := s.trial; t != nil && t.ID != "" && auth.ViewOf(ctx) != nil {
		return fmt.Errorf("%s by gNMI", t.waits())
	}
	if err := s.mayEnd(ctx); err != nil {
		return err
	}
	if in.Confirmed != nil {
		return s.commitOnTrial(ctx, time.Duration(*in.Confirmed)*time.Second)
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

// commitOnTrial begins a trial, or changes the end of the present one.
func (s *archiver) commitOnTrial(ctx context.Context, d time.Duration) error {
	if t := s.trial; t != nil {
		return s.extendTrial(ctx, d)
	}
	d, err := trialFor(ctx, d, 0)
	if err != nil {
		return err
	}
	notes, err := s.archive().List()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(notes, func(n configfile.Note) bool { return slices.Contains(settled, n.Kind) })
	if i < 0 {
		return errors.New("nothing was committed yet: there is nothing to come back to")
	}
	_, back, err := s.archive().Load(notes[i].Seq)
	if err != nil {
		return fmt.Errorf("the configuration to come back to cannot be read: %w", err)
	}
	is, err := s.stored(ctx)
	if err != nil {
		return err
	}
	t := s.newTrial(ctx, "", d, notes[i].Seq)
	t.back = back
	for _, diff := range configfile.Diff(back, is) {
		t.Own[diff.Table+"|"+diff.Key] = []string{digest(is[diff.Table][diff.Key])}
	}
	return s.beginTrial(t)
}

// newTrial returns a trial of the caller that begins now.
func (s *archiver) newTrial(ctx context.Context, id string, d time.Duration, back uint64) unconfirmedCommit {
	c, now := auth.CallerOf(ctx), s.now()
	return unconfirmedCommit{
		ID:     id,
		Began:  now,
		Until:  now.Add(d),
		Back:   back,
		User:   c.Name,
		Role:   c.Role,
		Own:    map[string][]string{},
		Others: map[string]string{},
	}
}

// extendTrial changes the end time of the current trial. The caller must have checked mayEnd.
func (s *archiver) extendTrial(ctx context.Context, d time.Duration) error {
	now := s.now()
	d, err := trialFor(ctx, d, now.Sub(s.trial.Began))
	if err != nil {
		return err
	}
	t := *s.trial
	t.Until = now.Add(d)
	return s.beginTrial(t)
}

// waits returns a text that describes the trial that has not ended.
func (t *unconfirmedCommit) waits() string {
	name := "the commit"
	if t.ID != "" {
		name = fmt.Sprintf("commit %q", t.ID)
	}
	return fmt.Sprintf("%s of %s waits to be confirmed until %s", name, t.User, t.Until.UTC().Format(time.RFC3339))
}

// mayEnd refuses a caller that is neither the trial's user nor an admin. The caller of mayEnd holds setting.
func (s *archiver) mayEnd(ctx context.Context) error {
	t := s.trial
	if t == nil || auth.ViewOf(ctx) == nil || auth.UserOf(ctx) == t.User {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "%s: %s or an admin may confirm, cancel or extend it", t.waits(), t.User)
}

// beginTrial writes a trial to disk and starts it. The caller holds setting.
func (s *archiver) beginTrial(t unconfirmedCommit) error {
	if err := s.noteTrial(&t); err != nil {
		return err
	}
	s.runTrial(t)
	return nil
}

// noteTrial writes a trial to disk.
func (s *archiver) noteTrial(t *unconfirmedCommit) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return configfile.Write(s.trialFile(), bytes.NewReader(text), 0o600)
}

// runTrial starts a trial that is on disk.
func (s *archiver) runTrial(t unconfirmedCommit) {
	if s.trial != nil {
		close(s.trial.stop)
	}
	t.stop = make(chan struct{})
	s.trial = &t
	s.onTrial.Store(&t)
	go s.awaitTrial(&t, s.after(t.Until.Sub(s.now())))
}

// awaitTrial undoes a trial when its time is over.
func (s *archiver) awaitTrial(t *unconfirmedCommit, over <-chan time.Time) {
	select {
	case <-t.stop:
		return
	case <-s.closed:
		return
	case <-over:
	}
	select {
	case <-s.closed: // before the time was over
		return
	default:
	}
	for s.undo(t) != nil {
		select { // the databases cannot be written at present
		case <-s.closed:
			return
		case <-t.stop:
			return
		case <-s.after(undoAgain):
		}
	}
}

// undoAgain is the time between attempts to undo a trial.
const undoAgain = time.Second

// undo restores the trial's archived configuration, if the trial is still the present one.
func (s *archiver) undo(t *unconfirmedCommit) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.trial != t {
		return nil
	}
	return s.undoLocked(context.Background(), t, notConfirmed)
}

// notConfirmed is the reason given when a trial is undone because its time is over.
const notConfirmed = "it was not confirmed in time"

// undoLocked undoes the rows that the user of a trial may change, even if the present configuration cannot be archived.
// A trial ends if the configuration to go back to is missing or unreadable, because another attempt could not succeed.
func (s *archiver) undoLocked(ctx context.Context, t *unconfirmedCommit, why string) error {
	stays, err := s.revertTrial(ctx, t, why)
	as := auth.WithCaller(ctx, auth.Caller{Name: t.User, Role: t.Role, Transport: "process"})
	s.guard.Trail.Did(as, "undo of an unconfirmed commit", nil, joined(why, stayed(stays)), err)
	if err != nil {
		return err
	}
	s.endTrial()
	s.log.Warn("an unconfirmed commit was undone", "user", t.User, "why", why)
	if len(stays) > 0 {
		s.log.Warn("rows of an unconfirmed commit stay as they are", "user", t.User, "rows", stayed(stays))
	}
	return nil
}

// revertTrial writes the rows that a trial restores, and returns the rows that stay, each with the reason.
func (s *archiver) revertTrial(ctx context.Context, t *unconfirmedCommit, why string) (stays []string, err error) {
	_, back, err := s.archive().Load(t.Back)
	if err != nil {
		s.log.Error("an unconfirmed commit is not undone: the configuration to go back to cannot be read", "user", t.User,
			"error", err)
		s.endTrial()
		return nil, fmt.Errorf("nothing was changed: the configuration to go back to cannot be read: %w", err)
	}
	t.back = back
	err = s.rewrite(ctx, func(was configfile.Rows) (want configfile.Rows, err error) {
		want, stays = s.reverted(t, back, was)
		if err := s.keep(t.User, keptBefore, joined(why, stayed(stays)), was); err != nil {
			s.log.Error("what is undone cannot be kept", "user", t.User, "error", err)
		}
		return want, nil
	})
	if err != nil {
		s.log.Error("an unconfirmed commit cannot be undone", "user", t.User, "error", err)
	}
	return stays, err
}

// endTrial removes the trial. The caller holds setting.
func (s *archiver) endTrial() {
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
func (s *archiver) cancelCommit(ctx context.Context, _ string, _ struct{}) error {
	if s.trial == nil {
		return errors.New("no commit waits to be confirmed")
	}
	if err := s.mayEnd(ctx); err != nil {
		return err
	}
	return s.undoLocked(ctx, s.trial, "it was cancelled by "+auth.UserOf(ctx))
}

// resumeTrial continues a trial that an earlier server began. If fresh, its changes were not saved and no longer exist,
// so the trial ends. A trial whose time ended while no server ran is undone immediately, and retried as long as the
// databases cannot be written. The caller holds setting.
func (s *archiver) resumeTrial(ctx context.Context, fresh bool) error {
	text, err := os.ReadFile(s.trialFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	t := unconfirmedCommit{Own: map[string][]string{}, Others: map[string]string{}}
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
	if s.undoLocked(ctx, &t, notConfirmed) != nil && s.trial != nil {
		go s.awaitTrial(&t, s.after(undoAgain))
	}
	return nil
}

// commitExtension returns gNMI's commit-confirmed extension, or nil if there is none.
func commitExtension(exts []*gnmi_ext.Extension) *gnmi_ext.Commit {
	for _, e := range exts {
		if c := e.GetCommit(); c != nil {
			return c
		}
	}
	return nil
}

// confirmable handles the commit extension of a Set before the Set is executed. If the Set begins a trial, begin starts
// it; otherwise begin is nil. done means that the request is complete. The caller holds setting.
func (s *archiver) confirmable(ctx context.Context, req *gpb.SetRequest) (begin func() error, done bool, err error) {
	ext := commitExtension(req.GetExtension())
	if ext == nil {
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
	return nil, true, s.concludeTrial(ctx, ext)
}

// concludeTrial confirms, cancels or extends the trial.
func (s *archiver) concludeTrial(ctx context.Context, ext *gnmi_ext.Commit) error {
	if err := s.mayEnd(ctx); err != nil {
		return err
	}
	t := s.trial
	switch {
	case ext.GetConfirm() != nil:
		rows, err := s.stored(ctx)
		if err != nil {
			return err
		}
		if err := s.keep(auth.UserOf(ctx), keptCommit, "", rows); err != nil {
			return err
		}
		s.endTrial()
		return nil
	case ext.GetCancel() != nil:
		return s.undoLocked(ctx, t, "it was cancelled by "+auth.UserOf(ctx))
	}
	return s.extendTrial(ctx, ext.GetSetRollbackDuration().GetRollbackDuration().AsDuration())
}

// commitBySet archives the running configuration, and returns the function that begins the trial of the Set.
func (s *archiver) commitBySet(ctx context.Context, ext *gnmi_ext.Commit) (func() error, error) {
	if t := s.trial; t != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "extension commit: %s", t.waits())
	}
	d := trialDefault
	if given := ext.GetCommit().GetRollbackDuration(); given != nil {
		d = given.AsDuration()
	}
	d, err := trialFor(ctx, d, 0)
	if err != nil {
		return nil, err
	}
	rows, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	note := configfile.Note{
		Time: s.now().UTC(), User: auth.UserOf(ctx), Kind: keptBefore, Comment: "before commit " + ext.GetId(),
	}
	seq, err := s.archive().Add(note, rows, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return func() error {
		t := s.newTrial(ctx, ext.GetId(), d, seq)
		t.begins = true
		return s.beginTrial(t)
	}, nil
}

// commitInWords returns the action of a Set's commit extension, for the audit trail, or "".
func commitInWords(req *gpb.SetRequest) string {
	ext := commitExtension(req.GetExtension())
	if ext == nil {
		return ""
	}
	word := "commit"
	switch {
	case ext.GetConfirm() != nil:
		word = "confirm"
	case ext.GetCancel() != nil:
		word = "cancel"
	case ext.GetSetRollbackDuration() != nil:
		word = "set-rollback-duration"
	}
	return word + " " + ext.GetId()
}
