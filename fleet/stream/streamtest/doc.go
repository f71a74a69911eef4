// Package streamtest holds a log to what stream.Log says, whatever keeps its messages. Each implementation calls Test,
// and has tests of its own for what only it promises, such as what becomes of work whose holder died.
//
// What belongs here: what a reader of package stream may rely on, as tests. Not: speed, faults, bounds by age.
package streamtest
