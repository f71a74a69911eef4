// Package hostrows has what the switch as a host writes into the databases, whether hostd is that host or Linux, with
// hostifd: the traps that a host needs, and how each address of the switch is, with the hosts that have it too.
//
// What belongs here: rows that are the same for both. Protocols, and rows of one of them alone, do not.
package hostrows
