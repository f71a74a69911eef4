// Package amorch programs alternate marking. The rows of TAM_APPL_FEATURES_TABLE:ALTMARK and TAM_ALTMARK_TABLE in
// APPL_DB become profiles of the chip, and two ACL entries per flow group, one for each colour. The chip's counts of
// each period go to COUNTERS_DB.
//
// A session refers to an ACL rule of a TAM table, its flow group. While the feature is active and the rule is usable,
// the session has a lane of the chip (shared with sessions that have equal settings), an index, and the two entries of
// the rule. The counters of period k are read in the middle of period k+1 of the chip's clock, while they do not
// change. [meter] converts the readings to periods.
//
// If the switch cannot match time, orchagent switches the colour of step marking itself, with standard SAI; see
// [schedule].
//
// What belongs here: what only alternate marking needs. What does not: ACL tables, entries and counters (aclorch,
// through [Rules]).
package amorch
