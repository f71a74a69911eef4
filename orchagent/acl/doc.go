// Package acl programs ACLs into the ASIC. Rows of ACL_TABLE_TYPE_TABLE, ACL_TABLE_TABLE and ACL_RULE_TABLE of APPL_DB
// become SAI objects. The SAI calls have the same order as in SONiC's orchagent.
//
// The content of the ASIC follows from the rows, the existing ports and LAGs, and the requests of the TAM features. The
// order of events has no effect. Every event marks tables and rules dirty, and one pass (reconcile.go) brings all dirty
// objects to their target state. It removes entries, then tables, then creates tables, then entries, in bulk. If an
// object fails, only that object is undone.
//
// A table of type TAM is not itself an object of the ASIC. Its rules are flow groups. Each TAM feature that uses one
// gets its own table in the ASIC ([Orch.BindMany], [Orch.BindVariants]). So overlapping flow groups of two features do
// not hide each other. The table for table recording is at the pre-ingress stage ([Orch.PreIngress]). The tables of
// other features are at the ingress stage.
//
// What belongs here: all ACL objects. The use of a flow group by a feature does not: features pass it as actions of an
// entry.
package acl
