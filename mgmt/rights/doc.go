// Package rights says what a role may do with the tree of YANG and with the rows of the databases as they are. What
// belongs here: what follows from the lines of a role, wherever the data that they are about is, too. Who has which
// role is no matter of it.
package rights
