// Package restconf serves RFC 8040 on the tree of package mgmt. Each request becomes a Get, a Set or a Subscribe of
// gNMI's engine, so its guarantees apply. A request is executed or refused as a whole, and errors name the node and the
// reason. What belongs here: the differences between RESTCONF and gNMI. The package is independent of modules and
// databases.
//
// # Resources
//
// The resources are /restconf/data and each node below it. A list without keys may be read, as one array. All other
// requests need an entry. A node's name is prefixed by its module if that differs from the parent's. The encoding is
// JSON (RFC 7951).
//
// # Conditions
//
// The entity-tag of a resource depends only on its configuration, not on state. If-Match and If-None-Match are
// evaluated without another Set in between.
//
// # Choices where RFC 8040 leaves one
//
//   - Defaults are reported in config (basic mode report-all); with-defaults accepts that mode.
//   - If depth cuts off the entries of a list, they are shown by their keys.
//   - A key value "*" matches no entry: it is a wildcard in gNMI, but not here.
//   - There is no Last-Modified, no XML, no fields, and no insert and point: no list is ordered by the user.
package restconf
