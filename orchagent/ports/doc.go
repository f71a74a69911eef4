// Package ports programs the switch, its ports, link aggregation groups (LAGs) and VLANs into the ASIC. Rows of
// PORT_TABLE, LAG_TABLE, LAG_MEMBER_TABLE, VLAN_TABLE and VLAN_MEMBER_TABLE of APPL_DB become SAI objects, as in
// SONiC's orchagent.
//
// What the ASIC holds is a function of the rows, never of their order. After each batch of rows the target state is
// planned again (plan.go), and the difference to the programmed state is applied (apply.go). An object is removed
// before the objects that it uses, and created after them. Rows that exclude each other are decided by name.
//
// Before a port or LAG is removed, and before a port becomes a member of a LAG, [Orch.Changes] notifies the other
// orchs. They release it before they return, and then the SAI object is removed.
//
// What belongs here: objects that exist because a port, LAG or VLAN exists. ACLs and TAM do not.
package ports
