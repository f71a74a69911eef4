package set

import (
	"bytes"
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/mgmt/configfile"
	"tamtam/mgmt/fetch"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Tx is one Set on the rows of CONFIG_DB that it touches, in memory until it is committed. The commit fails if
// another client has written a row that it read, or if another Set was committed since this one began. Then the Set is
// tried again.
type Tx struct {
	Model   *tree.Model
	Reader  fetch.Reader
	Hub     *fetch.Hub // finds entries by the values of their leaves
	Turn    string     // the revision of CONFIG_DB when this Set began
	entries map[string]*txEntry
	order   []*txEntry // in order of first use
	faults  *Faults
	step    int // the step that is being executed
	steps   []Step
	View    *rights.View // the caller's rights; nil means everything
	denied  denied       // changes of the Set that the caller may not make
	// Claim is called with the rows to be written, and may refuse the write. The function that it returns is called
	// with true if they were written.
	Claim  func([]RowChange) (func(done bool), error)
	needed map[string]need
	// given holds values of OpenConfig's leaves that are written in rows of our lists, by entry and path. putting is the
	// one that is being written; its node is nil if there is none.
	given      map[string]given
	putting    given
	item       string       // see [tree.Setting.Item]
	overridden []overridden // values of our leaves that such a value has replaced
	// replacing is true while the nodes of a replaced path are removed.
	replacing bool
	repeated  []repeated
	delayed   map[string]delayed // functions that are called after all steps, by name
	refused   map[string]bool    // entries that could not be made at OpenConfig's path
}

// A RowChange is a row of CONFIG_DB before and after a change. Nil stands for a missing row.
type RowChange struct {
	Key           string // TABLE|key
	Before, After map[string]string
}

// A txEntry is an entry with its rows before and after the Set.
type txEntry struct {
	*tree.Entry
	before       []map[string]string
	present      bool // true if the entry exists after the steps so far
	touched      bool
	bare         bool               // true if removed leaves leave no default in the rows
	refused      bool               // true if the entry cannot be created
	lapsed       bool               // true if it is removed at the end of the Set, unless it is made again
	replaced     bool               // true if a replace has removed some of it
	by           sides              // the paths at which the Set has made it
	contradicted *Step              // a step that gives it up although another path has it
	problems     []string           // errors of finishing it
	step         int                // the last step that changed it
	wrote        map[*tree.Node]int // the last step that wrote a leaf
}

// load reads entries that are not loaded yet: the rows that a Set can write or, of a list that has none, all rows.
func (t *Tx) load(ctx context.Context, g *tree.List, keys [][]string) error {
	var es []*tree.Entry
	for _, k := range keys {
		id := tree.EntryID(g, k)
		if t.entries[id] != nil {
			continue
		}
		e := &txEntry{Entry: tree.NewEntry(g, slices.Clone(k))}
		t.entries[id] = e
		t.order = append(t.order, e)
		es = append(es, e.Entry)
	}
	config := g.ConfigRows()
	if !slices.Contains(config, true) {
		for i := range config {
			config[i] = true
		}
	}
	for _, own := range []bool{true, false} {
		which := make([]bool, len(g.Rows))
		for i, r := range g.Rows {
			which[i] = config[i] && r.Entry == own
		}
		if err := t.Reader.FetchRows(ctx, g, es, which); err != nil {
			return err
		}
	}
	for _, e := range es {
		x := t.entries[tree.EntryID(g, e.Keys)]
		x.present = x.Exists()
		x.before = make([]map[string]string, len(g.Rows))
		for i, rec := range e.Rows {
			x.before[i] = maps.Clone(rec)
		}
	}
	return nil
}

// get returns an entry; it reads it if needed.
func (t *Tx) get(ctx context.Context, g *tree.List, keys []string) (*txEntry, error) {
	if err := t.load(ctx, g, [][]string{keys}); err != nil {
		return nil, err
	}
	return t.entries[tree.EntryID(g, keys)], nil
}

// match returns the entries of a group that match a pattern: those in the database, and those that this transaction
// created.
func (t *Tx) match(ctx context.Context, g *tree.List, pattern []string) ([]*txEntry, error) {
	var keys [][]string
	if g.Parent == nil || !slices.Contains(pattern, tree.Wildcard) {
		keys = [][]string{pattern}
	} else {
		err := t.Reader.Read(ctx, g, pattern, make([]bool, len(g.Rows)), func(es []*tree.Entry) error {
			for _, e := range es {
				keys = append(keys, e.Keys)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err := t.load(ctx, g, keys); err != nil {
		return nil, err
	}
	var out []*txEntry
	for _, e := range t.order {
		if e.List == g && tree.Matches(e.Keys, pattern) && (e.present || g.Parent == nil) {
			out = append(out, e)
		}
	}
	return out, nil
}

// create makes an entry exist. If it existed before the Set, it keeps fields that are unknown to the modules.
func (e *txEntry) create() error {
	e.touched, e.lapsed, e.contradicted = true, false, nil
	if e.present {
		return nil
	}
	served := false
	for i, r := range e.List.Rows {
		if !r.Written() || !r.Serves(e.Keys) || r.Former && e.before[i] == nil {
			continue
		}
		if err := e.mayCreate(r, i); err != nil {
			return err
		}
		served = served || r.Entry
		if formerly(e.List.Rows, e.before, i) {
			continue
		}
		e.Rows[i] = maps.Clone(e.before[i])
		if e.Rows[i] == nil {
			e.Rows[i] = map[string]string{}
		}
	}
	if !served {
		return fmt.Errorf("cannot be created: the name does not fit")
	}
	e.present = true
	return e.clear(e.List.Node)
}

// mayCreate returns an error with the reason if a missing row of an entry cannot be created.
func (e *txEntry) mayCreate(r *tree.ListRow, i int) error {
	switch {
	case r.Entry && r.Fixed != "" && e.before[i] == nil:
		return fmt.Errorf("cannot be created: %s", r.Fixed)
	case r.Entry && e.Other:
		return fmt.Errorf("cannot be created: %s|%s is of another type: want another name", r.Table, e.Keys[0])
	}
	return nil
}

// removeOrReset deletes the entry, in the list that has it. An entry that clients cannot delete loses its content.
func (t *Tx) removeOrReset(ctx context.Context, e *txEntry) error {
	if r := e.elsewhere(); r != nil {
		e.touched, e.present = true, false
		return t.Erase(ctx, r.Elsewhere, e.Keys...)
	}
	fixed := func(r *tree.ListRow) bool { return r.Entry && r.Fixed != "" && e.Rows[r.Index] != nil }
	if slices.ContainsFunc(e.List.Rows, fixed) {
		return e.clear(e.List.Node)
	}
	e.drop()
	return nil
}

// elsewhere returns the row of an entry that another list creates and deletes; nil if this list does.
func (e *txEntry) elsewhere() *tree.ListRow {
	i := slices.IndexFunc(e.List.Rows, func(r *tree.ListRow) bool {
		return r.Entry && r.Elsewhere != "" && r.Serves(e.Keys)
	})
	if i < 0 {
		return nil
	}
	return e.List.Rows[i]
}

func (e *txEntry) drop() {
	e.touched, e.present, e.lapsed = true, false, false
	for i := range e.Rows {
		e.Rows[i] = nil
	}
}

// clear removes the entry's own leaves at and below a node.
func (e *txEntry) clear(n *tree.Node) error {
	var errs []error
	for _, l := range e.List.Leaves {
		if l.Config && l.KeyIndex < 0 && l.Within(n) && l.Through == nil && !(l.Kept && l != n) {
			errs = append(errs, e.put(l, nil))
		}
	}
	return errors.Join(errs...)
}

// put sets the value of a leaf, or removes it if v is empty.
func (e *txEntry) put(n *tree.Node, v []string) error {
	e.touched = true
	for _, b := range n.Binds {
		r := e.List.Rows[b.Row]
		if !r.Written() || !r.Serves(e.Keys) || r.Former && e.Rows[b.Row] == nil ||
			formerly(e.List.Rows, e.Rows, b.Row) {
			continue
		}
		if b.Codec.Put == nil {
			return tree.ErrReadOnly
		}
		if r.Elsewhere != "" { // only the value is checked, since the row belongs to another list
			fields := maps.Clone(e.Rows[b.Row])
			if fields == nil {
				fields = map[string]string{}
			}
			return b.Codec.Put(tree.Record{Keys: e.Keys, Fields: fields}, v)
		}
		fields, is := e.Rows[b.Row], true
		if fields == nil {
			if len(v) == 0 {
				return nil
			}
			fields, is = map[string]string{}, false
		}
		if len(v) == 0 && !e.bare {
			v = b.Codec.Default
		}
		err := b.Codec.Put(tree.Record{Keys: e.Keys, Fields: fields, Own: e.Own()}, v)
		if is || len(fields) > 0 { // a value that is in no field makes no row
			e.Rows[b.Row] = fields
		}
		return err
	}
	if len(v) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no such leaf", tree.PathText(tree.PathTo(e.List.Node, e.Keys)))
}

// settle gives rows of a replaced entry whose leaves all have their former values their former fields. A value can be
// stored in several ways, and a value that is equal to the present one is no change.
func (e *txEntry) settle() {
	if !e.replaced {
		return
	}
	for i, r := range e.List.Rows {
		if !r.Written() || e.Rows[i] == nil || e.before[i] == nil || !e.changed(i) {
			continue
		}
		same := true
		now, before := maps.Clone(e.Rows[i]), maps.Clone(e.before[i])
		for _, n := range e.List.Leaves {
			for _, b := range n.Binds {
				if b.Row != i || b.Codec.Put == nil || !n.Config || n.Through != nil {
					continue
				}
				same = same && slices.Equal(e.Value(n), e.was(n))
				for _, fields := range []map[string]string{now, before} {
					same = same && b.Codec.Put(tree.Record{Keys: e.Keys, Fields: fields, Own: fields}, nil) == nil
				}
			}
		}
		if same && maps.Equal(now, before) { // nothing else has changed the row
			e.Rows[i] = maps.Clone(e.before[i])
		}
	}
}

// formerly reports whether of a row, among the rows of an entry, only the former form exists.
func formerly(of []*tree.ListRow, rows []map[string]string, i int) bool {
	return !of[i].Former && rows[i] == nil && i+1 < len(of) && of[i+1].Former && rows[i+1] != nil
}

// renew moves changed rows in a former form to the present form.
func (e *txEntry) renew() {
	for i, r := range e.List.Rows {
		if !r.Former || e.Rows[i] == nil || !e.changed(i) && !e.changed(i-1) {
			continue
		}
		if e.Rows[i-1] == nil {
			e.Rows[i-1] = e.Rows[i]
		}
		e.Rows[i] = nil
	}
}

// fill adds the mandatory fields of new rows, and of rows that have lost these fields.
func (e *txEntry) fill() {
	for i, r := range e.List.Rows {
		if e.Rows[i] == nil || !r.Written() {
			continue
		}
		for f, v := range r.New {
			lost := e.before[i] == nil || tree.Record{Fields: e.before[i]}.Field(f) != ""
			if rec := (tree.Record{Fields: e.Rows[i]}); lost && rec.Field(f) == "" {
				rec.Set(f, v)
			}
		}
	}
}

// text returns the path of the entry.
func (e *txEntry) text() string { return tree.PathText(tree.PathTo(e.List.Node, e.Keys)) }

// changed reports whether a row differs from its former content.
func (e *txEntry) changed(i int) bool {
	return (e.Rows[i] == nil) != (e.before[i] == nil) || !maps.Equal(e.Rows[i], e.before[i])
}

// ErrConflict means that another client wrote a row, or committed a Set, during a Set.
var ErrConflict = errors.New("a row was written by another")

// commitLimit is how long a Set waits for the response to its commit. The wait does not end with the RPC: a commit that
// was sent has an outcome, and the next Set must wait for this outcome.
const commitLimit = 30 * time.Second

// outcomeLimit is how long the outcome of a commit without response is queried.
const outcomeLimit = 10 * time.Second

// ErrOutcomeUnknown is wrapped in the error of a Set whose outcome is unknown.
var ErrOutcomeUnknown = errors.New(
	"it is not known whether the configuration was changed; read it before you try again",
)

// outcomeUnknown is ErrOutcomeUnknown with its cause.
type outcomeUnknown struct{ why error }

func (e outcomeUnknown) Error() string { return e.GRPCStatus().Message() }

func (e outcomeUnknown) Unwrap() []error { return []error{ErrOutcomeUnknown, e.why} }

// GRPCStatus returns the client's error.
func (e outcomeUnknown) GRPCStatus() *status.Status {
	return status.Newf(codes.Unavailable, "%s: %v", swss.Why(e.why), ErrOutcomeUnknown)
}

//go:embed commit.lua
var commitText string

// Commit writes all changed rows in one transaction, unless a row that was read has changed. Redis' WATCH would have
// the same effect, but its time grows with the square of the number of rows.
func (t *Tx) Commit(ctx context.Context) error {
	next := swss.NewTurn()
	packed := pack(nil, swss.KeyMark, t.Turn, next)
	writes := false
	written := map[string]*txEntry{}
	var changes []RowChange
	for _, e := range t.order {
		for i, r := range e.List.Rows {
			if !r.Written() || !r.Serves(e.Keys) {
				continue
			}
			own := e.Own()
			if own == nil {
				own = (&tree.Entry{List: e.List, Rows: e.before}).Own()
			}
			key := r.Hash("|", r.Template.Expand(e.Keys, own))
			packed = packRead(packed, key, e.before[i])
			after := e.before[i]
			if e.touched && e.changed(i) && r.Elsewhere == "" {
				after = e.Rows[i]
				if o := written[key]; o != nil {
					return status.Errorf(codes.InvalidArgument, "%s: is the row %s, which %s writes too", e.text(), key, o.text())
				}
				written[key] = e
				changes = append(changes, RowChange{key, e.before[i], after})
			}
			size := len(packed)
			packed = packWrite(packed, e.before[i], after)
			writes = writes || !bytes.Equal(packed[size:], []byte("1:01:0"))
		}
	}
	if !writes {
		return nil
	}
	done, err := t.Claim(changes)
	if err != nil {
		return err
	}
	err = t.send(context.WithoutCancel(ctx), packed, next)
	done(err == nil)
	return err
}

// send runs the commit. If the response is lost, it queries the outcome.
func (t *Tx) send(ctx context.Context, packed []byte, turn string) error {
	db := t.Reader.Redis.DB(swss.ConfigDB)
	limited, cancel := context.WithTimeout(ctx, commitLimit)
	reply, err := db.Run(limited, commitScript, nil, packed)
	changed, _ := reply.(string)
	cancel()
	switch {
	case err == nil && changed != "":
		return fmt.Errorf("%s: %w", changed, ErrConflict)
	case err == nil:
		return nil
	case swss.NothingSent(err):
		return tree.Unavailable(err)
	}
	limited, cancel = context.WithTimeout(ctx, outcomeLimit)
	defer cancel()
	done, unknown := db.ConfirmTurn(limited, turn)
	switch {
	case unknown != nil:
		return outcomeUnknown{err}
	case done:
		return nil
	}
	return tree.Unavailable(err)
}

// Replacement returns a function that replaces CONFIG_DB as a whole, or changes nothing. was is its content at the
// revision turn.
func Replacement(r fetch.Reader, turn string, was, want configfile.Rows) func(context.Context) error {
	next := swss.NewTurn()
	packed := pack(nil, swss.KeyMark, turn, next)
	for _, d := range configfile.Diff(was, want) {
		before, after := was[d.Table][d.Key], want[d.Table][d.Key]
		packed = packRead(packed, d.Table+"|"+d.Key, before)
		if d.Kind == configfile.Removed {
			after = nil
		}
		packed = packWrite(packed, before, after)
	}
	return func(ctx context.Context) error { return (&Tx{Reader: r}).send(ctx, packed, next) }
}

func pack(dst []byte, items ...string) []byte {
	for _, s := range items {
		dst = strconv.AppendInt(dst, int64(len(s)), 10)
		dst = append(dst, ':')
		dst = append(dst, s...)
	}
	return dst
}

// packRead appends a row as it was read.
func packRead(dst []byte, key string, row map[string]string) []byte {
	dst = pack(dst, key, strconv.Itoa(len(row)))
	for f, v := range row {
		dst = pack(dst, f, v)
	}
	return dst
}

// packWrite appends the changes from one row to another.
func packWrite(dst []byte, before, after map[string]string) []byte {
	if after == nil {
		n := "0"
		if before != nil {
			n = "-1"
		}
		return pack(dst, n, "0")
	}
	if len(after) == 0 || len(after) == 1 && after[tree.NullField] != "" {
		after = map[string]string{tree.NullField: tree.NullField}
	} else {
		after = maps.Clone(after)
		delete(after, tree.NullField)
	}
	var set, gone []string
	for _, f := range slices.Sorted(maps.Keys(after)) {
		if v, ok := before[f]; !ok || v != after[f] {
			set = append(set, f, after[f])
		}
	}
	for _, f := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[f]; !ok {
			gone = append(gone, f)
		}
	}
	dst = pack(dst, strconv.Itoa(len(set)/2))
	dst = pack(dst, set...)
	dst = pack(dst, strconv.Itoa(len(gone)))
	return pack(dst, gone...)
}
