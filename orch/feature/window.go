package feature

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
)

// TryAgain is the delay after which a failed request to the ASIC is repeated: the removal of a session or a window, or
// the query for the description of the chip.
const TryAgain = time.Second

// Windows are extension objects through which an orch reads the chip. One exists during a read, and [Windows.Close]
// removes it.
//
// A result is valid whether or not the window can be removed: its numbers were read at one time, and later events do
// not change them. A window that stays uses one of the chip's small number of windows, so it is not forgotten. The next
// read of its kind uses and removes it. Without such a read it is removed a second later.
type Windows struct {
	api    sai.API
	daemon *orch.Daemon
	log    *slog.Logger
	open   map[string]sai.OID // object ids of open windows, by the name of the extension
	dropAt time.Time          // time of the next attempt to remove windows that stay; zero if none stays
}

// NewWindows returns the windows of a configuration. It registers a timer with the daemon that removes windows that
// stay.
func NewWindows(cfg Config) *Windows {
	api := cfg.Chip
	if api == nil {
		api = cfg.SAI
	}
	w := &Windows{api: api, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), open: map[string]sai.OID{}}
	w.daemon.At(func() time.Time { return w.dropAt }, func(ctx context.Context, _ time.Time) error {
		w.Close(ctx)
		return nil
	})
	return w
}

// Report opens a window with a request, or passes the request to one that is open. If the window is a command, nothing
// has to be read.
func (w *Windows) Report(ctx context.Context, name, attr string, value any) error {
	_, err := w.report(ctx, name, attr, value)
	return err
}

func (w *Windows) report(ctx context.Context, name, attr string, value any) (sai.OID, error) {
	entry, err := entryOf(attr, value)
	if err != nil {
		return sai.NullOID, err
	}
	if oid, ok := w.open[name]; ok {
		err := set(ctx, w.api, oid, entry)
		if !errors.Is(err, sai.StatusItemNotFound) && !errors.Is(err, sai.StatusInvalidObjectID) {
			if err != nil {
				err = fmt.Errorf("set the window %s: %w", name, err)
			}
			return oid, err
		}
		delete(w.open, name) // the window no longer exists
	}
	oid, err := create(ctx, w.api, name, entry)
	if err != nil {
		return sai.NullOID, fmt.Errorf("create the window %s: %w", name, err)
	}
	w.open[name] = oid
	return oid, nil
}

// Ask returns the values of a register read, by attribute. room is the approximate length of the answer.
func (w *Windows) Ask(ctx context.Context, name, attr string, value any, room int) (Values, error) {
	oid, err := w.report(ctx, name, attr, value)
	if err != nil {
		return nil, err
	}
	text, err := w.read(ctx, oid, room)
	if err != nil {
		return nil, fmt.Errorf("read the window %s: %w", name, err)
	}
	values, err := ParseEntry(text)
	if err != nil {
		return nil, fmt.Errorf("the window %s returned %w", name, err)
	}
	return values, nil
}

// Counted describes windows that return the same number of words for each requested label.
type Counted struct {
	Name             string // name of the extension
	Labels, Counters string // names of the attributes with the request and the answer
	Words            int    // number of words for each label
}

// Words returns the words of labels, in their order.
func (w *Windows) Words(ctx context.Context, of Counted, labels []string) ([][]uint64, error) {
	const digits = 12 // estimated number of digits of a number
	values, err := w.Ask(ctx, of.Name, of.Labels, labels, 512+(digits*of.Words+20)*len(labels))
	if err != nil {
		return nil, err
	}
	return of.Parse(values, len(labels))
}

// Parse extracts the words for a number of labels from a register read.
func (of Counted) Parse(values Values, labels int) ([][]uint64, error) {
	words, err := Value[[]uint64](values, of.Counters)
	if err != nil {
		return nil, err
	}
	if len(words) != labels*of.Words {
		return nil, fmt.Errorf("the window returned %d counters, want %d for each of %d labels", len(words), of.Words, labels)
	}
	return slices.Collect(slices.Chunk(words, of.Words)), nil
}

// read returns the ENTRY of an object, which is about room bytes long.
func (w *Windows) read(ctx context.Context, oid sai.OID, room int) (sai.Bytes, error) {
	k := sai.Obj(sai.ObjectTypeGenericProgrammable, oid)
	got, err := w.api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, room)})
	for tries := 0; errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 && tries < 3; tries++ {
		n, ok := sai.ListLen(got[0].Value)
		if !ok || n > maxEntry {
			break
		}
		got, err = w.api.Get(ctx, k, []sai.Attr{sai.Want(sai.GenericProgrammableAttrEntry, n+64)})
	}
	if err != nil {
		return nil, err
	}
	text, _ := got[0].Value.(sai.Bytes)
	return text, nil
}

// Close removes the windows. Failed removals are retried later.
func (w *Windows) Close(ctx context.Context) {
	w.dropAt = time.Time{}
	for _, name := range slices.Sorted(maps.Keys(w.open)) {
		if err := Remove(ctx, w.api, sai.Obj(sai.ObjectTypeGenericProgrammable, w.open[name])); err != nil {
			w.log.Error("a window stays in the ASIC", "window", name, "err", err)
			w.dropAt = w.daemon.Now().Add(TryAgain)
			continue
		}
		delete(w.open, name)
	}
}
