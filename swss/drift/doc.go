// Package drift compares, in the background, a daemon's expectation with the actual state, and keeps account of the
// differences.
//
// Each daemon compares the state that no other daemon has:
//
//   - tammgrd: CONFIG_DB with the rows that it has accepted, APPL_DB and STATE_DB with its target state there
//   - orchagent: APPL_DB with the rows that it has accepted, ASIC_STATE with the objects that it has created
//   - syncd: ASIC_STATE with the chip
//
// Each comparison is a [Stage]. A [Watch] walks through the objects of the stages in small batches, one pass after
// the other.
//
// A difference counts as drift if two checks, a second apart, find the same difference and nothing is in flight. A row
// that has changed meanwhile differs in another way, so it does not count. Drift is reported and then healed by the
// author of the expected state. If the author is another daemon, the daemon that finds drift waits until the author has
// checked all its objects again (Stage.After). So a row that was deleted from APPL_DB by mistake is written again, and
// not removed from the chip.
//
// A daemon reports in its row of the table [Table] of STATE_DB. It is ready when it has ended a whole pass in this run
// and nothing differs.
//
// This package decides when a difference counts as drift, when it is healed, how often objects are compared, and how
// results are reported. It does not interpret rows.
package drift
