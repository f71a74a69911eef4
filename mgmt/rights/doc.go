// Package rights decides what a role may do with the tree of YANG and with raw rows of the databases. What belongs
// here: the effects of a role's lines on the data, at whatever path it appears. The assignment of roles to users
// belongs elsewhere.
package rights
