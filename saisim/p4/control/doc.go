// Package control applies text from the control plane to a switch that runs a P4 program: commands of bmv2's
// simple_switch_CLI ([CLI]), and STF files with entries, packets and expected packets ([STF]). An error names the file,
// the line, the value, and what would be valid. Nothing in a line is ignored.
//
// What belongs here: formats of commands. What does not: what the commands do to packets (package interp).
package control
