// Package hostrows writes the database rows that hostd, and hostifd for Linux, have in common. These are the traps that
// a host needs, and the state of each address of the switch, with other hosts that use the same address.
//
// What belongs here: rows that are the same for both. Not: protocols, and rows of one of the two only.
package hostrows
