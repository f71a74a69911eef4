package result

import (
	"context"

	"tamtam/tam/query"
)

// A Scanner answers questions about more rows than a process can hold.
type Scanner interface {
	// Kinds returns the kinds of rows that can be asked for.
	Kinds() []string
	// Words returns the fields of a kind of rows for filters and groups, and the numbers that its groups may show.
	Words(kind string) (fields, numbers []string)
	// Complete returns how an unfinished filter of a kind of rows may continue.
	Complete(kind, where string) query.Completion
	// Scan answers a question. The error is a *query.Error if a text of the question is wrong.
	Scan(ctx context.Context, ask *Ask) (*Answer, error)
}

// An Ask is a question: the numbers of groups of stored rows.
type Ask struct {
	Kind     string
	From, To int64  // the row's window touches this time
	Where    string // filter
	By       string // fields that make groups, with a comma between them; empty means one group of all rows
	Show     string // numbers of a group, with a comma between them; empty means those that are usual for the kind
}

// An Answer holds the groups of rows that a question asks for.
type Answer struct {
	// Table declares the fields of groups: those that make groups, of which there are Keys, the number of rows, and the
	// requested numbers.
	Table  *query.Table[query.Group]
	Keys   int
	Groups []*query.Group // in the order of their keys

	Rows     int64 // number of rows in the time
	Selected int64 // number of those that meet the filter
	Unknown  int64 // number of those of which it is unknown whether they meet it
	Newest   int64 // end of the newest stored rows of the kind, of any time; 0 if there are none
	Flags    Flags // of the selected rows, and of the time as far as later findings concern it
	// Lacks describes rows of the time that are missing, or may be: damaged files, and files that were removed.
	Lacks []string

	Files, FilesRead         int   // files of the time, and those of which columns were read
	RowGroups, RowGroupsRead int   // the same of the row groups of all read files
	BytesRead                int64 // compressed
}
