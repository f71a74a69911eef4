// Package calibration compares what a whole switch answers with exact values: sketches, periods of alternate marking,
// and what stays of both when daemons restart.
//
// What belongs here: tests of measured numbers and of how sure they say they are.
package calibration
