// Package fdb maintains the switch's table of MAC addresses. It programs static entries of APPL_DB's FDB_TABLE into the
// ASIC. It writes the addresses that the ASIC reports as learned, moved, aged or flushed to STATE_DB's FDB_TABLE, as in
// SONiC. Addresses learned at a port are flushed when its link is down or when it leaves the VLAN.
//
// A static entry is in the ASIC while its port is a member of its VLAN. An entry of FDB_TABLE of type dynamic
// (swssconfig) may age.
//
// STATE_DB's rows and the ASIC start equal: both are empty when the view of the ASIC has been applied. If only syncd
// restarts and loses an address, the address stays in STATE_DB until it is learned again and ages.
//
// What belongs here: SAI calls for FDB entries and their flushing.
package fdb
