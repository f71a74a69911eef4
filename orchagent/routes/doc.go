// Package routes programs routing: virtual routers, router interfaces, neighbours with their next hops, groups of next
// hops, and routes, from APPL_DB's VRF_TABLE, INTF_TABLE, NEIGH_TABLE and ROUTE_TABLE.
//
// At every change it computes the target state from the rows (plan) and brings the ASIC to it (pass). It first creates
// new objects, then moves routes, then removes unused objects. So a packet always finds either the old or the new
// route. If an object fails, the error is recorded for its row, and the other objects are still programmed.
//
// As in SONiC, every address of an interface has a route to the CPU (IP2ME), and its subnet has a route to the router
// interface. Unknown destinations are dropped by the default routes 0.0.0.0/0 and ::/0. fe80::/10 and the link-local
// address of the switch's MAC lead to the CPU. These routes are in each VRF. Each neighbour has one next hop, and
// routes with the same next hops share one group. A route is in the ASIC while at least one of its next hops has a
// neighbour. A group contains only next hops that have a neighbour. Loopbacks have no router interface.
//
// What belongs here: SAI calls for those objects. A neighbour's port, and the use of a next hop by a redirect, do not.
package routes
