// Package tam has the shell's commands of telemetry and monitoring. An [Object] is a list of entries with leaves; a
// [Feature] is a mode with such objects. Their commands, what "no" takes back, the running configuration and the show
// command of one object follow. A new leaf is one entry in commands_*.go or flowgroup.go.
package tam
