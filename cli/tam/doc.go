// Package tam contains the shell's commands of telemetry and monitoring. An [Object] is a list of entries with leaves,
// and a [Feature] is a mode with such objects. They define the commands, their "no" forms, the running configuration
// and the show command of one object. A new leaf is one entry in commands_*.go or flowgroup.go.
package tam
