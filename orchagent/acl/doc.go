// Package acl programs ACLs into the ASIC: the rows of ACL_TABLE_TYPE_TABLE,
// ACL_TABLE_TABLE and ACL_RULE_TABLE of APPL_DB become SAI objects, in the order
// of calls that SONiC's orchagent has.
//
// What the ASIC holds follows from the rows, from the existing ports and LAGs, and from what the
// TAM features ask for; never from the order of events. Every event marks tables and rules dirty,
// and one pass (reconcile.go) brings the dirty ones to the wanted state: it removes entries, then
// tables, then creates tables, then entries, in bulk. An object that fails is undone alone.
//
// A table of type TAM is not itself an object of the ASIC. Its rules are flow groups, and each TAM
// feature that uses one gets a table of its own in the ASIC ([Orch.BindMany], [Orch.BindVariants]),
// so that overlapping flow groups of two features do not hide each other. That of table recording is at the
// pre-ingress stage ([Orch.PreIngress]), the others at the ingress.
//
// What belongs here: everything that is an ACL object. Not: what a feature does
// with a flow group; it arrives as actions of an entry.
package acl
