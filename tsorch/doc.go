// Package tsorch programs tail-stamping. The rows of TAM_APPL_SWITCH_TABLE, TAM_APPL_FEATURES_TABLE:TAILSTAMPING and
// TAM_TAILSTAMPING_TABLE in APPL_DB become a SAI TAM INT object (IFA1_TAILSTAMP) and actions of ACL entries, as in
// section 3 of the Tailstamping design.
//
// A session refers to an ACL rule of a TAM table, its flow group. While the feature is active, the switch has an id and
// the rule is usable, the session is bound to the rule. Then the rule's entry refers to the TAM INT object, which all
// sessions share. Session and rule may arrive in any order. While a dependency is missing, the session waits. The TAM
// INT object exists while at least one session is bound.
//
// A session with clamp-mss also has a clamp: an extension object that lowers the maximum segment size in the SYNs of
// its flows. On a switch without this extension, the session fails.
//
// What belongs here: what only tail-stamping needs. What does not: ACL tables, entries and counters (aclorch, through
// [Rules]).
package tsorch
