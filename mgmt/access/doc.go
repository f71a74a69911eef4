// Package access holds users, roles, and the lines that grant a role rights at paths. It reads the two files of these.
// The meaning of a path in a tree is decided in mgmt.
//
// # Users
//
// Lines NAME:PASSWORD:ROLE, the password in clear or as a bcrypt hash. It may contain colons.
//
// # Roles
//
// Three are built in. read-only sees all but raw rows of CONFIG_DB, which may hold secrets, and changes nothing.
// operator sees all, and changes all but the nodes of the machine and of other daemons. admin may do everything. A line
// ROLE none|read|write [ORIGIN:]PATH of the file of roles overrides that for a path and all below; write includes read.
// The line with the longest path applies; among equally long ones the one with the most keys, and then the one that
// allows less. A role that is not built in has only the rights that lines grant. Lines for admin are refused, so that
// not all users can be locked out.
package access
