// Package lldpd is LLDP with its rows, for whoever has the CPU port: hostd, and hostifd beside FRR. It says on every
// port that is up who the switch is, and keeps what is heard there in LLDP_ENTRY_TABLE, as SONiC's lldp-syncd does.
//
// What belongs here: between package lldp and the databases.
package lldpd
