// Package tsorch programs tail-stamping: the rows of TAM_APPL_SWITCH_TABLE,
// TAM_APPL_FEATURES_TABLE:TAILSTAMPING and TAM_TAILSTAMPING_TABLE of APPL_DB
// become a SAI TAM INT object (IFA1_TAILSTAMP) and actions of ACL entries, as
// section 3 of the Tailstamping design has it.
//
// A session names an ACL rule of a TAM table, its flow group. While the feature
// is active, the switch has an id and the rule is usable, the session is bound
// to the rule: the entry of the rule then inserts with the one TAM INT object
// that all sessions share. Session and rule come in either order; what goes away
// makes the session wait. The TAM INT object exists while a session is bound.
//
// What may enter: what only tail-stamping needs. ACL tables, entries and
// counters are aclorch's, behind [Rules].
package tsorch
