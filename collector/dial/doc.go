// Package dial reads alternate marking from switches by gNMI and joins it: for each target one
// connection and one Subscribe, for all paths one join.
//
// A subscription is to the settings and the periods of sessions, ON_CHANGE. It begins with what
// there is: the switch keeps the last 16 periods, so that a connection that was lost for less
// costs no report. Nothing is polled. What a notification says of a period is taken as a whole.
//
// What may enter: gNMI as a client, and the file that names paths. What may not: databases,
// SAI, arithmetic of loss and delay, which is collector's.
package dial
