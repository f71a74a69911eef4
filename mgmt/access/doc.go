// Package access holds users, roles, and the rules that grant a role rights at paths. It reads the file of users and
// the file of roles. Package mgmt/rights decides what a path means in the tree.
//
// # Users
//
// The file has a line NAME:PASSWORD:ROLE per user. The password is clear text or a bcrypt hash, and may contain colons.
//
// # Roles
//
// Three roles are built in. read-only sees all but raw rows of CONFIG_DB, which may hold secrets, and changes nothing.
// operator sees all, and changes all but the nodes of the machine and of other daemons. admin may do everything. The
// file of roles overrides that for a path and all below it, by lines ROLE none|read|write [ORIGIN:]PATH. For example,
// "read-only none /system" hides the system. write includes read. The line with the longest path applies. Among equally
// long paths the line with the most keys applies, and then the line that allows less. A role that is not built in has
// only the rights that lines grant. Lines for admin are refused, so that not all users can be locked out.
package access
