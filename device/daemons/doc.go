// Package daemons runs each daemon of a switch, one in each process or all in one: tammgrd ([RunManagers]), orchagent
// ([RunOrchagent]), syncd ([RunSyncd]), mgmtd ([RunMgmt]), and those beside them, hostd, hostifd, sflowd and fpmsyncd.
// A simulation makes tammgrd, orchagent and syncd ([NewManagers], [NewOrchagent], [NewSyncd]) and steps them itself.
//
// What belongs here: from which parts a daemon is made, when it begins anew, and what is known of its health. What it
// does belongs to its own package; switches that are made of daemons belong to package device.
package daemons
