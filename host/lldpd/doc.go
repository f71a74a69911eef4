// Package lldpd is LLDP with its rows, for the daemon that has the CPU port: hostd, or hostifd beside FRR. It announces
// the switch on every port that is up, and keeps the neighbours there in LLDP_ENTRY_TABLE, as SONiC's lldp-syncd does.
//
// What belongs here: the connection of package lldp with the databases.
package lldpd
