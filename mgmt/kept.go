package mgmt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/set"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Saved configurations are files: the startup configuration, and an archive of configurations. The archive holds those
// that were in force at a start, save, commit or replacement. Each file is a complete config_db.json, with all of
// CONFIG_DB.

// mostKept is how many earlier configurations are kept.
const mostKept = 20

// Names of configurations. Names in the archive are numbers, and 0 is the newest.
const (
	runningName = "running"
	startupName = "startup"
)

// Kinds of configurations in the archive.
const (
	keptStart  = "start"  // the switch started with it
	keptSave   = "save"   // saved as the startup configuration
	keptCommit = "commit" // committed
	keptBefore = "before" // it was in force without a commit, and was replaced by another configuration
)

// settled lists the kinds that an unconfirmed commit can be undone to.
var settled = []string{keptStart, keptSave, keptCommit}

// A archiver is the part of the server that saves configurations, and undoes commits that are not confirmed.
type archiver struct {
	*Server
	trial   *unconfirmedCommit                // the unconfirmed commit, or nil; guarded by setting
	onTrial atomic.Pointer[unconfirmedCommit] // the same as trial, for readers that do not hold setting
	closed  chan struct{}
	close   sync.Once
}

var errNotKept = errors.New("this server was started without a place for configurations (--data)")

func (s *archiver) archive() configfile.Archive {
	return configfile.Archive{Dir: filepath.Join(s.cfg.Keep, "configurations"), Most: mostKept}
}

// stored returns the present content of CONFIG_DB.
func (s *Server) stored(ctx context.Context) (configfile.Rows, error) {
	rows, err := configfile.Stored(ctx, s.reader.Redis)
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	return rows, nil
}

// configuration returns the configuration of that name, and its note. The caller holds setting, or tolerates concurrent
// changes.
func (s *archiver) configuration(
	ctx context.Context,
	name string,
) (n configfile.Note, rows configfile.Rows, err error) {
	switch {
	case name == runningName:
		rows, err = s.stored(ctx)
		return n, rows, err
	case s.cfg.Keep == "":
		return n, nil, errNotKept
	case name == startupName:
		rows, err = configfile.Read(s.cfg.Startup)
		if errors.Is(err, fs.ErrNotExist) {
			return n, nil, status.Errorf(codes.NotFound, "nothing was saved: there is no %s", s.cfg.Startup)
		}
		return n, rows, err
	}
	i, err := strconv.ParseUint(name, 10, 16)
	if err != nil {
		return n, nil, status.Errorf(codes.InvalidArgument,
			"%q names no configuration: want %s, %s or the number of an earlier one", name, runningName, startupName)
	}
	notes, err := s.archive().List()
	if err != nil {
		return n, nil, err
	}
	if i >= uint64(len(notes)) {
		return n, nil, status.Errorf(codes.NotFound, "there is no earlier configuration %d, there are %d, from 0", i,
			len(notes))
	}
	return s.archive().Load(notes[i].Seq)
}

// A copyInput is the input of the operation copy.
type copyInput struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Comment     string `json:"comment"`
}

// copy copies a configuration onto the running one or onto the startup configuration.
func (s *archiver) copy(ctx context.Context, who string, in copyInput) error {
	if in.Destination != runningName && in.Destination != startupName {
		return status.Errorf(codes.InvalidArgument, "destination is %q, want %s or %s", in.Destination, runningName,
			startupName)
	}
	if in.Source == in.Destination {
		return status.Errorf(codes.InvalidArgument, "source and destination are both %s", in.Source)
	}
	if s.cfg.Keep == "" {
		return errNotKept
	}
	note, rows, err := s.configuration(ctx, in.Source)
	if err != nil {
		return err
	}
	if in.Destination == runningName {
		return s.restore(ctx, who, rows, fmt.Sprintf("replaced by %s", in.Source))
	}
	if in.Comment == "" {
		in.Comment = note.Comment
	}
	return s.save(who, rows, in.Comment)
}

// save writes a configuration as the startup configuration. It also archives it, if keep considers that necessary.
func (s *archiver) save(who string, rows configfile.Rows, comment string) error {
	text, err := rows.JSON()
	if err == nil {
		err = configfile.Replace(s.cfg.Startup, bytes.NewReader(append(text, '\n')), 0o644)
	}
	if err != nil {
		return fmt.Errorf("nothing was saved: %w", err)
	}
	if err := s.keep(who, keptSave, comment, rows); err != nil {
		return fmt.Errorf("it was saved to %s, but is not in the history: %w", s.cfg.Startup, err)
	}
	return nil
}

// keep adds a configuration to the archive. Without a comment, it does nothing if the newest archived one is equal and
// a further condition holds: that one's kind is in settled, or kind is keptBefore.
func (s *archiver) keep(who, kind, comment string, rows configfile.Rows) error {
	a := s.archive()
	notes, err := a.List()
	if err != nil {
		return err
	}
	if len(notes) > 0 && comment == "" && (kind == keptBefore || slices.Contains(settled, notes[0].Kind)) {
		if _, newest, err := a.Load(notes[0].Seq); err == nil && len(configfile.Diff(newest, rows)) == 0 {
			return nil
		}
	}
	note := configfile.Note{Time: s.now().UTC(), User: who, Kind: kind, Comment: comment}
	_, err = a.Add(note, rows, s.trial.holds())
	return err
}

// restore makes a configuration the running one. It first archives the running one if needed, and changes nothing if
// that fails. It ends an unconfirmed commit if the caller may do so, because the change that the commit protected no
// longer exists.
func (s *archiver) restore(ctx context.Context, who string, rows configfile.Rows, why string) error {
	err := s.replaceRows(ctx, rows, func(was configfile.Rows) error {
		if err := s.keep(who, keptBefore, why, was); err != nil {
			return fmt.Errorf("nothing was changed, as what is running cannot be kept: %w", err)
		}
		return nil
	})
	if err == nil && s.mayEnd(ctx) == nil {
		s.endTrial()
	}
	return err
}

// replaceRows replaces CONFIG_DB as a whole, or changes nothing. keep receives the former content before the write. The
// caller holds setting.
func (s *archiver) replaceRows(ctx context.Context, want configfile.Rows, keep func(configfile.Rows) error) error {
	var written func(bool)
	err := s.rewrite(ctx, func(was configfile.Rows) (configfile.Rows, error) {
		diffs := configfile.Diff(was, want)
		if err := set.MayReplace(auth.ViewOf(ctx), diffs); err != nil {
			return nil, err
		}
		if s.mayEnd(ctx) != nil {
			var changes []set.RowChange
			for _, d := range diffs {
				changes = append(changes, set.RowChange{
					Key: d.Table + "|" + d.Key, Before: was[d.Table][d.Key], After: want[d.Table][d.Key],
				})
			}
			var err error
			if written, err = s.claim(ctx, changes); err != nil {
				return nil, err
			}
		}
		return want, keep(was)
	})
	if written != nil {
		written(err == nil)
	}
	return err
}

// rewrite replaces CONFIG_DB as a whole, or changes nothing. plan receives the present content and returns the new one.
// The caller holds setting.
func (s *archiver) rewrite(ctx context.Context, plan func(was configfile.Rows) (configfile.Rows, error)) error {
	for range commitTries {
		if err := s.tryRewrite(ctx, plan); !errors.Is(err, set.ErrConflict) {
			return err
		}
	}
	return status.Error(codes.Aborted, "others kept writing the same rows; nothing was changed")
}

func (s *archiver) tryRewrite(ctx context.Context, plan func(was configfile.Rows) (configfile.Rows, error)) error {
	turn, err := s.reader.Redis.DB(swss.ConfigDB).Turn(ctx)
	if err != nil {
		return tree.Unavailable(err)
	}
	was, err := s.stored(ctx)
	if err != nil {
		return err
	}
	want, err := plan(was)
	if err != nil {
		return err
	}
	write := set.Replacement(s.reader, turn, was, want)
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	if err := write(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if err := s.reader.Redis.DB(swss.ConfigDB).SetInitialized(context.WithoutCancel(ctx), true); err != nil {
		s.log.Warn("the configuration is in CONFIG_DB, but SONiC's utilities were not notified", "error", err)
	}
	return nil
}

// Begin continues or undoes a commit that was not confirmed. It is called once CONFIG_DB holds the configuration that
// the switch starts with. source describes the origin of this configuration. fresh is true if it replaced any former
// one. found is the former content of CONFIG_DB. If found differs, it is archived and logged.
func (s *Server) Begin(ctx context.Context, source string, fresh bool, found configfile.Rows) error {
	return s.kept.begin(ctx, source, fresh, found)
}

func (s *archiver) begin(ctx context.Context, source string, fresh bool, found configfile.Rows) error {
	if s.cfg.Keep == "" {
		return nil
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	rows, err := s.stored(ctx)
	if err != nil {
		return err
	}
	s.log.Info("configuration", "from", source, "rows", rows.Count())
	if err := s.keepStart(source, fresh, found, rows); err != nil {
		s.log.Error("what the switch starts with cannot be kept: there is no configuration to come back to", "error", err)
	}
	s.warnUnsaved(rows)
	if err := s.resumeTrial(ctx, fresh); err != nil {
		s.log.Error("whether a commit waits to be confirmed is not known, none is undone", "error", err)
	}
	return nil
}

// keepStart archives the configuration that the switch starts with, and the former content of CONFIG_DB if that
// differs. A full or read-only disk does not prevent the start.
func (s *archiver) keepStart(source string, fresh bool, found, rows configfile.Rows) error {
	if d := configfile.Diff(found, rows); len(found) > 0 && len(d) > 0 {
		s.log.Warn("CONFIG_DB held something else than what the switch starts with; it is kept, "+
			"see show configuration history", "rows that differ", len(d), "from", source)
		err := s.keep("start", keptBefore, "what CONFIG_DB held before it was started from "+source, found)
		if err != nil {
			return err
		}
	}
	notes, err := s.archive().List()
	if err == nil && (fresh || len(notes) == 0) && len(rows) > 0 {
		err = s.keep("start", keptStart, "", rows)
	}
	return err
}

// warnUnsaved logs a warning if the next start would load a configuration other than rows.
func (s *archiver) warnUnsaved(rows configfile.Rows) {
	saved, err := configfile.Read(s.cfg.Startup)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.log.Warn("the saved configuration cannot be read", "file", s.cfg.Startup, "error", err)
	default:
		if n := len(configfile.Diff(saved, rows)); n > 0 {
			s.log.Warn("the running configuration is not the one that was saved, see show configuration diff startup",
				"file", s.cfg.Startup, "rows that differ", n)
		}
	}
}

// keptNames returns the names of all saved configurations, and their notes.
func (s *archiver) keptNames() (names []string, notes map[string]configfile.Note, err error) {
	notes = map[string]configfile.Note{}
	list, err := s.archive().List()
	if err != nil {
		return nil, nil, err
	}
	for i, n := range list {
		notes[strconv.Itoa(i)] = n
	}
	if fi, err := os.Stat(s.cfg.Startup); err == nil && !fi.IsDir() {
		n := configfile.Note{Time: fi.ModTime().UTC(), Kind: keptSave, Comment: s.cfg.Startup}
		if i := slices.IndexFunc(list, func(o configfile.Note) bool { return o.Kind == keptSave }); i >= 0 {
			n.User = list[i].User
		}
		notes[startupName] = n
	}
	return slices.Sorted(maps.Keys(notes)), notes, nil
}
