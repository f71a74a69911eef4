// Package tree is the tree of YANG bound to the rows of the databases: its nodes and lists, what paths and values mean
// in it, and entries with the rows that were read of them. What belongs here: what follows from the schema, from the
// tables of modules ([Module]) and from rows that somebody else has read. It reads and writes no database, and knows
// neither a feature nor who asks.
package tree
