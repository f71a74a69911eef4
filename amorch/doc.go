// Package amorch programs alternate marking: the rows of
// TAM_APPL_FEATURES_TABLE:ALTMARK and TAM_ALTMARK_TABLE of APPL_DB become profiles
// of the chip and two ACL entries per flow group, one for each colour, and what the
// chip counts of each period goes to COUNTERS_DB.
//
// A session names an ACL rule of a TAM table, its flow group. While the feature is active and the
// rule is usable, the session has a lane of the chip (shared by sessions with equal settings), an
// index, and the rule's two entries. The counters of period k are read in the middle of period k+1,
// by the chip's own clock, while nothing is counted in them; [meter] turns them into periods.
//
// On a switch that cannot match time, orchagent switches the colour of step
// marking itself, with standard SAI; see [schedule].
//
// What belongs here: what only alternate marking needs. ACL tables, entries and
// counters are aclorch's, behind [Rules].
package amorch
