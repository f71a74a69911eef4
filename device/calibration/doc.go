// Package calibration compares the answers of a whole switch with exact values. The answers are sketches and periods of
// alternate marking, and the parts of both that survive restarts of daemons.
//
// What belongs here: tests of measured numbers and of their claimed confidence.
package calibration
