// Package fetch reads entries of the tree of YANG from the databases: those that a request or a subscriber asks for,
// and no other rows. What belongs here: which rows that takes, and tables as they are ([RawPath]). It writes nothing.
//
// Two things are kept. The [Hub] keeps the rows of tables, with a version for each, and what is found by their keys and
// by values in them; [Hub.Fresh] alone says that they are as the databases are. [Memos] keep what entries say, with the
// versions of the rows that it follows from: while these are the same, it is right.
package fetch
