// Package daemons runs the daemons of a switch, one per process or all in one process. They are tammgrd
// ([RunManagers]), orchagent ([RunOrchagent]), syncd ([RunSyncd]), mgmtd ([RunMgmt]), and the optional hostd, hostifd,
// sflowd and fpmsyncd. A simulation makes tammgrd, orchagent and syncd ([NewManagers], [NewOrchagent], [NewSyncd]) and
// steps them itself.
//
// What belongs here: the assembly of each daemon, its restarts, and its health. The work of a daemon belongs to its own
// package; switches made of daemons belong to package device.
package daemons
