// Package tammgr is the manager of TAM and of ACLs. It copies the configuration in CONFIG_DB, validated and with all
// references resolved, to APPL_DB, and reports the outcome of every row in STATE_DB.
//
// APPL_DB is a function of the current rows of CONFIG_DB. The order of their arrival and restarts have no effect. An
// invalid new version of a row withdraws the old one. If an object that a row needs is removed, the row is withdrawn
// too. If rows exclude each other, the one with the smaller name wins. There is one deliberate exception: the switch
// ids in use stay while a TAM feature is active.
//
// A [Manager] stores the rows, their outcomes and their dependencies. So the cost of a change depends only on the rows
// that it affects. Each kind of rows is decided in one pass, after the kinds that it depends on: features, switch, ACL
// table types, ACL tables, ACL rules, flow groups, sessions. Sessions of alternate marking that write a bit of the DSCP
// also depend on the QoS maps of CONFIG_DB, even if these have no effect.
//
// The daemon tammgrd runs this manager and those of cfgmgr. It replaces the following daemons of SONiC: tammgrd,
// portmgrd, teammgrd (except LACP), vlanmgrd, intfmgrd, nbrmgrd, buffermgrd, coppmgrd and sflowmgrd. It also replaces
// bgpcfgd for static routes.
//
// What belongs here: decisions about CONFIG_DB rows of TAM and ACLs. SAI calls do not.
package tammgr
