// Package cli is tamtam's shell: SONiC's KLISH commands for telemetry and monitoring, as a client of a switch's gNMI
// server.
//
// It is only a gNMI client. Every command is a Get or a Set in JSON_IETF. So the shell depends on no database and works
// with any server of the same YANG tree. This package contains the session that runs commands (shell.go, terminal.go),
// help and completion (help.go), and the running configuration (running.go). It also contains the command table
// (commands.go) with the commands of the switch itself (commands_*.go, show_*.go). Package tree has the data of a
// server's answers, package kit the grammar and the parts of commands, and package tam the commands of telemetry.
//
// The configuration is described once, by leaves (kit.Leaf), objects with leaves (tam.Object) and features with objects
// (tam.Feature). They define the commands, their "no" forms, the running configuration and the show command of one
// object.
//
// Rows of CONFIG_DB without other nodes in the tree have commands too. rowkinds.go has one entry for each kind of these
// rows. The running configuration (running.go) contains every row. The switch helps with it by reporting which rows its
// other nodes reproduce.
//
// Line editing is golang.org/x/term's, with 300 lines of our own for TAB, ?, a search of the history and paging. Other
// libraries have these. However, github.com/reeflective/readline v1.3.0 has 21,600 lines and adds a module.
// peterh/liner has 2,800 lines and does not support custom keys such as ?. chzyer/readline had its last release in
// 2022.
//
// Standard output contains only the output of show commands. With "| json" this is one JSON document, RFC 7951 encoded.
// Warnings go to the error writer, and errors are returned.
//
// A Shell is used by one goroutine at a time.
package cli
