// Package drift compares, in the background, a daemon's expectation with the actual state, and keeps account of the
// differences.
//
// Each daemon compares the state that only it has:
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
// author of the expected state. A daemon that finds drift from another's state waits until that author has checked
// everything since (Stage.After). So a row that was deleted from APPL_DB by mistake is written again, and not removed
// from the chip.
//
// A daemon reports in its row of the table [Table] of STATE_DB. It is ready when a whole pass of its run has ended
// and nothing differs.
//
// This package decides when a difference counts, which author it waits for, how often to look, and how to report. It
// does not interpret rows.
package drift
