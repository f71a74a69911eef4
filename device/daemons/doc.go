// Package daemons runs each daemon of a switch, one in each process or all in one: tammgrd ([RunManagers]), orchagent
// ([RunOrchagent]), syncd ([RunSyncd]), mgmtd ([RunMgmt]), and the optional hostd, hostifd, sflowd and fpmsyncd. A
// simulation makes tammgrd, orchagent and syncd ([NewManagers], [NewOrchagent], [NewSyncd]) and steps them itself.
//
// What belongs here: the parts of which a daemon is made, when it starts again, and its health. The work of a daemon
// belongs to its own package; switches made of daemons belong to package device.
package daemons
