// Package streamtest checks that a log does what stream.Log documents, wherever it keeps its messages. Each
// implementation calls Test, and has its own tests for what only it guarantees, such as the fate of work whose holder
// ended.
//
// What belongs here: what a reader of package stream may rely on, as tests. Not: speed, faults, bounds by age.
package streamtest
