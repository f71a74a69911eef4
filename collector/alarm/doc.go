// Package alarm says which alarms of alternate marking rows are: where a graph lost more packets than is accepted, from
// the network to the cluster to the link, by the code that `tamtam collect --alarm` has.
//
// It holds no state. An alarm follows from the rows that are kept, so whoever reads the same rows has the same alarms:
// after a restart, beside other processes, and with as many workers as there are.
//
// All is in event time. A graph has an alarm from the first period that lost more than is accepted to the next one of
// which it is certain that it did not. Periods that do not say so in between, since a row is missing, a loss is not
// known or a row may not be the whole truth, neither raise nor clear, and are counted.
package alarm
