// Package kit provides the parts of shell commands: their grammar, the kinds of their parameters, and the configuration
// leaves that they set and show. It also has the client for the switch, and printouts.
//
// A [Command] is a row of the command table, and a [Call] is one use of it. A [Session] is the state of the shell that
// commands see. What belongs here: parts that several commands share. Commands do not.
package kit
