// Package restconf serves RFC 8040 on the tree of package mgmt: each request becomes a Get, a Set or a Subscribe of
// gNMI's engine, so that what is true there is true here: a request is done whole or refused whole, and errors name
// the node and the reason. What belongs here: what RESTCONF says otherwise than gNMI. Nothing here knows a module or a
// database.
//
// # Resources
//
// /restconf/data and each node below it. A list without keys may be read, and is one array; all else wants an entry.
// A node's name has that of its module in front where it differs from the parent's. The encoding is JSON (RFC 7951).
//
// # Conditions
//
// The entity-tag of a resource is made from its configuration: state changes without it. If-Match and If-None-Match
// are looked at with no other Set in between.
//
// # Choices where RFC 8040 leaves one
//
//   - Defaults are reported in config (basic mode report-all); with-defaults accepts that mode.
//   - The entries of a list that depth cuts off are shown by their keys.
//   - A value "*" of a key names nothing: it is a wildcard in gNMI, and none here.
//   - There is no Last-Modified, no XML, no fields, and no insert and point: no list is ordered by the user.
package restconf
