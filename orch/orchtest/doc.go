// Package orchtest steps an orch by hand in tests. A [Bench] is a Redis, a fake ASIC behind a recorder, and the
// daemon on which the orch registers. Rows are written to APPL_DB as by a manager. The outcome is read as text from
// STATE_DB, from the recorded calls, and from the contents of the ASIC.
//
// This package contains code that the tests of at least two orchs share. It contains no orch.
package orchtest
