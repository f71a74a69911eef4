// Package fates compares a switch's reports about its packets with their true fates: records, counters, drop reports
// and the drop accounting. Random switches and packets are compared with models that use only the rows of CONFIG_DB and
// the headers.
//
// What belongs here: tests of reports about single packets. Tests of sketches and marks are in device/calibration.
package fates
