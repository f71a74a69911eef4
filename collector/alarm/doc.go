// Package alarm derives alarms from the rows of alternate marking. It shows where a graph lost more packets than
// accepted, from the network to the cluster to the link. It uses the same code as `tamtam collect --alarm`.
//
// It holds no state. Alarms follow from the stored rows, so all readers of the same rows have the same alarms: after a
// restart, in parallel processes, and with any number of workers.
//
// All times are event time. The alarm of a graph begins with the first period that lost more than accepted. It ends
// with the next period that certainly did not. Periods in between may be undecided, because a row is missing, a loss is
// unknown, or a row may be inexact. They neither raise nor clear the alarm, and are counted.
package alarm
