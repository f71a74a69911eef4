// Package orchtest steps an orch by hand in tests: a [Bench] is a Redis, a fake ASIC behind a recorder,
// and the daemon that the orch registers on. Rows go into APPL_DB as a manager writes them; the outcome
// is read as text from STATE_DB, from the recorded calls, and from what the ASIC then holds.
//
// What belongs here: what the tests of at least two orchs share. No orch.
package orchtest
