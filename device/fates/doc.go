// Package fates holds what a switch says of its packets to what became of them: records, counters, drop reports and
// books of random switches and random packets, beside models that know the rows of CONFIG_DB and the headers alone.
//
// What belongs here: tests of what is told of single packets. Tests of sketches and marks are in device/calibration.
package fates
