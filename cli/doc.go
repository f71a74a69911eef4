// Package cli is tamtam's shell: SONiC's KLISH commands for telemetry and
// monitoring, spoken to a switch over gNMI.
//
// It is a gNMI client and nothing else: every command is a Get or a Set in
// JSON_IETF, so it knows no database and works against any server of the same
// YANG tree. What may enter here: the command table (commands_*.go), the
// grammar that parses, abbreviates, completes and explains it (grammar.go,
// parse.go, help.go), the layouts of the show commands (show_*.go), and the
// session that runs them (shell.go, terminal.go).
//
// Standard output carries only what a show command prints; with "| json" that
// is one JSON document, RFC 7951 encoded. Warnings go to the error writer and
// errors are returned.
//
// A Shell is used by one goroutine at a time.
package cli
