// Package pipetest makes random programs and control batches for tests that compare two engines. They are valid for the
// given limits and use every feature of the form. They are tuned so that random traffic really hits entries, opens
// gates and shares words of registers. The package is for tests only.
package pipetest
