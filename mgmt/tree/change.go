package tree

import (
	"context"
	"errors"

	"tamtam/swss"
)

// ErrReadOnly is the error of a Set of what no Set can write.
var ErrReadOnly = errors.New("is read-only")

// A Change is one entry during a Set, as a Group.Finish sees it.
type Change interface {
	// Keys are the keys of the entry.
	Keys() []string
	// Created reports whether the Set creates the entry.
	Created() bool
	// Fields returns the entry's row of a table of CONFIG_DB as it will be; changes to it are written.
	// nil: there will be none.
	Fields(table string) map[string]string
	// Changed reports whether the Set changes a leaf, its path relative to the entry.
	Changed(path string) bool
	// Read returns a row of any database; nil: there is none.
	Read(db swss.DBName, table, key string) (map[string]string, error)
	// Entries returns the rows of a table of CONFIG_DB that the entries of a list with one key have, as
	// they will be, by that key. Some may be [Change.InDoubt].
	Entries(path, table string) (map[string]map[string]string, error)
	// Sees reports whether whoever asks for the Set may see something of an entry of a list with one key, so that an error
	// may name it.
	Sees(path, key string) bool
	// Entry returns the row of a table of CONFIG_DB that one entry of a list with one key has, as it
	// will be; nil: there will be none, or it is in doubt.
	Entry(path, key, table string) (map[string]string, error)
	// InDoubt reports whether a failed part of the Set was to change an entry of a list with one key:
	// then nothing that follows from the entry is an error.
	InDoubt(path, key string) bool
	// PutEntry gives an entry of a list with one key a row of CONFIG_DB. It is an error if the entry
	// exists, unless it may.
	PutEntry(path, key, table string, fields map[string]string, mayExist bool) error
	// RemoveEntry removes an entry of a list with one key.
	RemoveEntry(path, key string) error
}

// A Through writes one list of OpenConfig's, or one leaf, in the list where it is configured.
type Through struct {
	// Put gives a leaf a value; leaf "": the entry is to exist.
	Put func(ctx context.Context, s Setting, keys []string, leaf string, v []string) error
	// Remove removes the entries that a pattern of keys means; not whole: what they have at or below a node, which a
	// value may follow.
	Remove func(ctx context.Context, s Setting, pattern []string, n *Node, whole bool) error
}

// A Setting is a Set, as a Through sees it. Lists are named by their paths.
type Setting interface {
	// Match returns the keys of the entries of a list that fit a pattern, as they are so far.
	Match(ctx context.Context, list string, pattern ...string) ([][]string, error)
	// Make makes an entry exist.
	Make(ctx context.Context, list string, keys ...string) error
	// Erase removes an entry, and what is below it.
	Erase(ctx context.Context, list string, keys ...string) error
	// Write writes into an entry's row of a table of CONFIG_DB what no leaf of the list has.
	Write(ctx context.Context, list string, keys []string, table string, c Codec, v []string) error
	// Needs notes that an entry of a list is to have a leaf when the Set is done: that there finds something then.
	Needs(list, leaf string, keys []string, there Finder)
	// Forgo takes back what Needs has noted of an entry.
	Forgo(list string, keys []string)
}

// A Finder finds the keys of those of our entries that an entry of OpenConfig's is.
type Finder func(ctx context.Context, s Setting, keys []string) ([][]string, error)

// A refusal is an error about the state of the switch, not about the request.
type refusal struct{ error }

// Refused makes an error one about the state of the switch: the same request
// may succeed later.
func Refused(err error) error { return refusal{err} }

func (r refusal) Unwrap() error { return r.error }

// IsRefusal reports whether an error is one about the state of the switch.
func IsRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// Hidden stands in errors for the name of what the caller may not see.
const Hidden = "something that the role may not see"
