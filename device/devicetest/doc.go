// Package devicetest is the kit of tests of whole switches: switches in simulated time, configurations, random rows and
// frames. Whoever needs no more than a switch in one line has [tamtam/tamtamtest].
//
// What belongs here: what tests of two packages below device need; not what is one test's subject.
package devicetest
