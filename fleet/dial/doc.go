// Package dial reads alternate marking from switches by gNMI and joins it: for each target one connection and one
// Subscribe, for all paths one join.
//
// A subscription covers the settings and the periods of sessions, ON_CHANGE. It begins with what exists: the switch
// keeps the last 16 periods, so that a connection lost for a shorter time costs no report. Nothing is polled. A
// notification is applied to a period as a whole. Answers of sketch tasks are read in the same way, and not joined.
//
// What belongs here: gNMI as a client, and the file that names paths. Not: databases, SAI, and the arithmetic of loss
// and delay, which is in collector.
package dial
