// Package kit provides the parts of shell commands. These are the grammar that parses and explains them, kinds of
// parameters, leaves of the configuration that they set and show, the client for the switch, and printouts.
//
// A [Command] is a row of the command table, a [Call] is one use of it, and a [Session] is its view of the shell that
// runs it. Commands themselves do not belong here.
package kit
