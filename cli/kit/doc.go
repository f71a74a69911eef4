// Package kit has what commands of the shell are made of: the grammar that parses and explains them, kinds of
// parameters, the leaves of the configuration that they set and show, the client that asks the switch, and printouts.
//
// A [Command] is a row of the command table, a [Call] one use of it, and a [Session] what it knows of the shell that
// runs it. What does not belong here: any command.
package kit
