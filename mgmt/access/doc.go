// Package access is who may what: users, roles, and lines that say what a role may do at which path. It reads the two
// files that have them; what a path means in a tree is mgmt's.
//
// # Users
//
// Lines NAME:PASSWORD:ROLE, the password in clear or as a bcrypt hash. It may contain colons.
//
// # Roles
//
// Three are built in: read-only sees all but rows of CONFIG_DB as they are, which may hold secrets, and changes
// nothing; operator sees all and changes all but what is of the machine and of other daemons; admin may everything.
// A line ROLE none|read|write [ORIGIN:]PATH of the file of roles says otherwise for a path and what is below; write
// includes read. The line with the longest path counts; of equally long ones that with the most keys given, and then
// the one that allows less. A role that is not built in may nothing but what lines say. Lines for admin are refused, so
// that nobody locks all out.
package access
