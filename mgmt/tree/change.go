package tree

import (
	"context"
	"errors"

	"tamtam/swss"
)

// ErrReadOnly is the error of a Set of a node that no Set can write.
var ErrReadOnly = errors.New("is read-only")

// A Change is one entry during a Set, as a Group.Finish sees it.
type Change interface {
	// Keys returns the keys of the entry.
	Keys() []string
	// Created reports whether the Set creates the entry.
	Created() bool
	// Fields returns the entry's row of a table of CONFIG_DB as it will be, or nil if there will be none. Changes to it
	// are written.
	Fields(table string) map[string]string
	// Changed reports whether the Set changes a leaf, its path relative to the entry.
	Changed(path string) bool
	// Read returns a row of any database, or nil if there is none.
	Read(db swss.DBName, table, key string) (map[string]string, error)
	// Entries returns the rows of a table of CONFIG_DB for the entries of a list with one key, as they will be, by that
	// key. Some may be [Change.Unknown].
	Entries(path, table string) (map[string]map[string]string, error)
	// Sees reports whether the Set's caller may see something of an entry of a list with one key, so that an error may
	// name it.
	Sees(path, key string) bool
	// Entry returns the row of a table of CONFIG_DB for one entry of a list with one key, as it will be. It is nil if
	// there will be none, or if the entry is [Change.Unknown].
	Entry(path, key, table string) (map[string]string, error)
	// Unknown reports whether a failed part of the Set was to change an entry of a list with one key. Then conclusions
	// from the entry must not be reported as errors.
	Unknown(path, key string) bool
	// PutEntry gives an entry of a list with one key a row of CONFIG_DB. If the entry exists and mayExist is false, it
	// returns an error.
	PutEntry(path, key, table string, fields map[string]string, mayExist bool) error
	// RemoveEntry removes an entry of a list with one key.
	RemoveEntry(path, key string) error
}

// A Through writes one list of OpenConfig's, or one leaf, in the list that holds the configuration.
type Through struct {
	// Put sets a leaf to a value. If leaf is empty, it ensures that the entry exists when the Set is done.
	Put func(ctx context.Context, s Setting, keys []string, leaf string, v []string) error
	// Remove removes the entries that match a pattern of keys. If whole is false, it removes only their content at or
	// below a node, and a new value may follow.
	Remove func(ctx context.Context, s Setting, pattern []string, n *Node, whole bool) error
}

// A Setting is a Set as a Through uses it. Lists are named by their paths.
type Setting interface {
	// Match returns the keys of the present entries of a list that match a pattern.
	Match(ctx context.Context, list string, pattern ...string) ([][]string, error)
	// Make creates an entry, unless it exists.
	Make(ctx context.Context, list string, keys ...string) error
	// Made reports whether a step so far has given an entry at a path of OpenConfig's.
	Made(ctx context.Context, list string, keys ...string) (bool, error)
	// Erase removes an entry, and all below it. While a value is replaced, it does so at the end of the Set, and only if
	// nothing has made the entry again.
	Erase(ctx context.Context, list string, keys ...string) error
	// Write writes fields that no leaf of the list has into an entry's row of a table of CONFIG_DB.
	Write(ctx context.Context, list string, keys []string, table string, c Codec, v []string) error
	// Row returns an entry's row of a table of CONFIG_DB as it is after the steps so far, or nil if there is none. It must
	// not be changed.
	Row(ctx context.Context, list string, keys []string, table string) (map[string]string, error)
	// Adds reports whether the items of a leaf-list that Put receives are added to the present ones, as by an update.
	Adds() bool
	// Item returns the only item of a leaf-list that Remove removes. It is "" if Remove removes all of its node.
	Item() string
	// Later calls a function once, after all steps, with the items of all calls with its name; its error is a fault of the
	// present step. If the function is nil, the earlier calls are cancelled.
	Later(name, item string, do func(ctx context.Context, items []string) error)
	// Needs records that an entry of a list must have a leaf when the Set is done: there must then find something. If
	// only is not nil, it must find the entry with these keys, and no other.
	Needs(list, leaf string, keys []string, there Finder, only []string)
	// Forgo cancels the Needs of the entries that match a pattern.
	Forgo(list string, pattern []string)
}

// A Finder returns the keys of our entries that correspond to an entry of OpenConfig's.
type Finder func(ctx context.Context, s Setting, keys []string) ([][]string, error)

// A refusal is an error about the state of the switch, not about the request.
type refusal struct{ error }

// Refused marks an error as one about the state of the switch: the same request may succeed later.
func Refused(err error) error { return refusal{err} }

func (r refusal) Unwrap() error { return r.error }

// IsRefusal reports whether an error is about the state of the switch.
func IsRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// Hidden stands in errors for a name that the caller may not see.
const Hidden = "something that the role may not see"
