// Package rights decides what a role may do with the tree of YANG and with raw rows of the databases. What belongs
// here: the consequences of a role's lines, for their data at any path. The assignment of roles to users belongs
// elsewhere.
package rights
