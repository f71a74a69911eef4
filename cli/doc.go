// Package cli is tamtam's shell: SONiC's KLISH commands for telemetry and
// monitoring, spoken to a switch over gNMI.
//
// It is a gNMI client and nothing else: every command is a Get or a Set in
// JSON_IETF, so it knows no database and works against any server of the same
// YANG tree. What belongs here: the command table (commands_*.go), the
// grammar that parses, abbreviates, completes and explains it (grammar.go,
// parse.go, help.go), the layouts of the show commands (show_*.go), and the
// session that runs them (shell.go, terminal.go).
//
// What is configured is described once: a leaf (leaf.go) has its words, kind,
// name in the tree, default and label; an object (object.go) is a list with such
// leaves; a feature (feature.go) is a mode with such objects. Their commands, what
// "no" takes back, the running configuration (running.go) and the show command of
// one object follow. A new leaf is one entry in commands_*.go or flowgroup.go.
//
// Rows of CONFIG_DB that the tree has no other nodes for have commands too (rowkinds.go): a kind of rows is one entry.
// Every row is in the running configuration (running.go), which the switch helps with: it says which rows its other
// nodes make again.
//
// Line editing is golang.org/x/term's, with TAB, ?, a search of the history and screens of our own, 300 lines. Of the
// libraries that have these, github.com/reeflective/readline v1.3.0 is 21,600 lines and a module more, peterh/liner
// has 2,800 and knows no key of ours such as ?, chzyer/readline had its last release in 2022.
//
// Standard output carries only what a show command prints; with "| json" that
// is one JSON document, RFC 7951 encoded. Warnings go to the error writer and
// errors are returned.
//
// A Shell is used by one goroutine at a time.
package cli
