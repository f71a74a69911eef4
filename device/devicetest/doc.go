// Package devicetest has helpers for tests of whole switches: switches in simulated time, configurations, random rows
// and frames. For a switch in one line, use [tamtam/tamtamtest].
//
// What belongs here: helpers that tests of at least two packages below device need; not the subject of one test.
package devicetest
