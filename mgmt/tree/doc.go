// Package tree binds the tree of YANG to the rows of the databases. It has nodes and lists, the meaning of paths and
// values, and entries with the rows that were read for them. What belongs here: code that needs only the schema, the
// tables of modules ([Module]) and rows read elsewhere. It accesses no database, and is independent of features and
// callers.
package tree
