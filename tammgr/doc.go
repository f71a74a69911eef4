// Package tammgr is the manager of TAM and of ACLs: it brings what is configured in CONFIG_DB,
// validated and with all references resolved, to APPL_DB, and reports in STATE_DB what became of
// every row.
//
// APPL_DB is a function of the rows that are in CONFIG_DB now, never of the order in which they
// came or of restarts: an invalid new version of a row withdraws the old one, what a row needs and
// is gone withdraws the row, and of rows that exclude each other the one with the smaller name
// wins. There is one deliberate exception: the switch's ids in use stay while a TAM feature is
// active.
//
// A [Manager] keeps the rows and what follows from each, and which rows depend on which, so that
// the cost of a change depends only on what it affects. Kinds are settled in one pass, each after
// those that it depends on: features, switch, ACL table types, ACL tables, ACL rules, flow groups,
// sessions. Sessions of alternate marking that write a bit of the DSCP depend on QoS maps too:
// those of CONFIG_DB, whatever becomes of them.
//
// The daemon tammgrd has this manager and those of cfgmgr: it stands for SONiC's tammgrd, portmgrd, teammgrd (but
// LACP), vlanmgrd, intfmgrd, nbrmgrd, buffermgrd, coppmgrd and sflowmgrd, and for bgpcfgd's static routes.
//
// What belongs here: decisions about CONFIG_DB rows of TAM and ACLs. No SAI.
package tammgr
