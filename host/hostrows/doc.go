// Package hostrows writes the database rows of the switch as a host, whether hostd is that host, or Linux with hostifd.
// These are the traps that a host needs, and the state of each address of the switch, with other hosts that have it.
//
// What belongs here: rows that are the same for both. Not: protocols, and rows of one of the two only.
package hostrows
