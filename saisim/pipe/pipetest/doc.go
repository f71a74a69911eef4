// Package pipetest makes random programs and control batches for tests that hold
// two engines against each other. What it makes is valid for the limits that it
// is given, uses every feature of the form, and is tuned so that random traffic
// really hits entries, opens gates and meets itself in registers. It is for tests
// only.
package pipetest
