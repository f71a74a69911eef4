// Package ports programs the switch, its ports, link aggregation groups and
// VLANs into the ASIC: the rows of PORT_TABLE, LAG_TABLE, LAG_MEMBER_TABLE,
// VLAN_TABLE and VLAN_MEMBER_TABLE of APPL_DB become SAI objects, as in SONiC's
// orchagent.
//
// What the ASIC holds is a function of the rows, never of their order: after each batch of rows the
// wanted state is planned again (plan.go), and the difference to what is programmed is applied,
// removing users before what they use, and creating in reverse (apply.go). Rows that exclude each
// other are decided by name.
//
// Before a port or LAG goes, and before a port becomes a member of a LAG, [Orch.Changes] tells the
// other orchs, which release it at once; the SAI object is removed after that.
//
// What belongs here: objects that exist because a port, LAG or VLAN exists. Not:
// ACLs, TAM.
package ports
