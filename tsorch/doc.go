// Package tsorch programs tail-stamping: the rows of TAM_APPL_SWITCH_TABLE,
// TAM_APPL_FEATURES_TABLE:TAILSTAMPING and TAM_TAILSTAMPING_TABLE of APPL_DB become a SAI TAM INT
// object (IFA1_TAILSTAMP) and actions of ACL entries, as in section 3 of the Tailstamping design.
//
// A session names an ACL rule of a TAM table, its flow group. While the feature is active, the
// switch has an id and the rule is usable, the session is bound to the rule: the rule's entry then
// refers to the one TAM INT object that all sessions share. Session and rule may come in either
// order; while anything it needs is missing, the session waits. The TAM INT object exists while a
// session is bound. A session with clamp-mss has a clamp besides, an extension object that lowers the
// maximum segment size that the other end of its flows says; on a switch without that it fails.
//
// What belongs here: what only tail-stamping needs. ACL tables, entries and
// counters are aclorch's, behind [Rules].
package tsorch
