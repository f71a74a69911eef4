// Package config is the configuration of a chip as plain data. SAI objects are translated to rows of
// its tables; the packet path compiles the rows, and the reference reads them as they are.
//
// A [Change] is what one call of the control plane does, in order: rows that are put, each in place of
// the one with its key if there is one, and rows that are removed. What a chip learns, counts or
// derives is not configuration and has no row.
//
// What belongs here: rows, their keys, and tables as sets of rows. What does not: SAI, and what a
// packet path makes of the rows.
package config
