// Package kit provides the parts of shell commands: the grammar that parses and explains them, kinds of parameters, and
// the leaves of the configuration that they set and show. It also has the client for the switch, and printouts.
//
// A [Command] is a row of the command table, and a [Call] is one use of it. A [Session] is its view of the shell that
// runs it. What belongs here: only such parts. Commands do not.
package kit
