// Package acl programs ACLs into the ASIC: the rows of ACL_TABLE_TYPE_TABLE,
// ACL_TABLE_TABLE and ACL_RULE_TABLE of APPL_DB become SAI objects, in the order
// of calls that SONiC's orchagent has.
//
// What the ASIC holds follows from the rows, the existing ports and LAGs, and the requests of the TAM features, never
// from the order of events. Every event marks tables and rules dirty, and one pass (reconcile.go) brings the dirty ones
// to their target state. It removes entries, then tables, then creates tables, then entries, in bulk. If an object
// fails, only that object is undone.
//
// A table of type TAM is not itself an object of the ASIC. Its rules are flow groups, and each TAM feature that uses
// one gets a table of its own in the ASIC ([Orch.BindMany], [Orch.BindVariants]). So overlapping flow groups of two
// features do not hide each other. The table of table recording is at the pre-ingress stage ([Orch.PreIngress]), the
// others are at the ingress stage.
//
// What belongs here: all ACL objects. What a feature does with a flow group does not: it arrives as actions of an
// entry.
package acl
