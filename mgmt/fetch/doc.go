// Package fetch reads entries of the tree of YANG from the databases: those that a request or a subscriber asks for,
// and no other rows. What belongs here: which rows that takes, tables that are watched and kept ([Hub]), what is
// remembered of entries as long as their rows are the same ([Memos]), and tables as they are ([RawPath]). It writes
// nothing.
package fetch
