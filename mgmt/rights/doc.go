// Package rights decides what a role may do with the tree of YANG and with raw rows of the databases. What belongs
// here: the effects of a role's lines on the data, at every path where the data appears. The assignment of roles to
// users belongs elsewhere.
package rights
