// Package fetch reads entries of the tree of YANG from the databases. It reads the rows that a request or a subscriber
// needs, and no others. What belongs here: finding the rows to read, and raw tables ([RawPath]). It writes nothing.
//
// There are two caches. The [Hub] caches the rows of tables, with a version for each, and indexes of their keys and
// values. Only [Hub.Fresh] ensures that they equal the databases. [Memos] cache values of entries, with the versions of
// the rows that the values depend on. A value is valid while these versions are the same.
package fetch
