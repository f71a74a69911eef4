// Package acl programs ACLs into the ASIC: the rows of ACL_TABLE_TYPE_TABLE,
// ACL_TABLE_TABLE and ACL_RULE_TABLE of APPL_DB become SAI objects, in the order
// of calls that SONiC's orchagent has.
//
// Rows are kept, and what the ASIC holds follows from them, from the ports and
// LAGs that there are, and from what the TAM features ask for; never from the
// order of events. Whatever happens marks tables and rules dirty, and one pass
// (reconcile.go) brings the ASIC to where the dirty ones belong: entries go
// first, then tables, then tables come, then entries, in bulk. An object that
// fails is undone alone.
//
// A table of type TAM is not an object of the ASIC. Its rules are flow groups,
// and each TAM feature that uses one gets a table of its own in the ASIC
// ([Orch.BindMany], [Orch.BindVariants]), so that overlapping flow groups of two features do not
// hide each other.
//
// What may enter: everything that is an ACL object. Not: what a feature does
// with a flow group; it arrives as actions of an entry.
package acl
