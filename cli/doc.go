// Package cli is tamtam's shell: SONiC's KLISH commands for telemetry and
// monitoring, spoken to a switch over gNMI.
//
// It is a gNMI client and nothing else: every command is a Get or a Set in
// JSON_IETF, so it knows no database and works against any server of the same
// YANG tree. What belongs here: the session that runs commands (shell.go,
// terminal.go), help and completion (help.go), the command table (commands.go)
// with the commands of the switch itself (commands_*.go, show_*.go), and the
// running configuration (running.go). Package tree has the data that a server
// answers with, package kit the grammar and what commands are made of, and
// package tam the commands of telemetry.
//
// What is configured is described once, by leaves (kit.Leaf), objects with leaves (tam.Object) and features with
// objects (tam.Feature). Their commands, what "no" takes back, the running configuration and the show command of one
// object follow.
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
