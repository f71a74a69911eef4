// Package config is the configuration of a chip as plain data. SAI objects are translated to rows of its tables. The
// packet path compiles the rows, and the reference reads them directly.
//
// A [Change] is the effect of one call of the control plane: rows that are put or removed, in order. A row that is put
// replaces the row with the same key. Data that a chip learns, counts or derives is not configuration and has no row.
//
// What belongs here: rows, their keys, and tables as sets of rows. What does not: SAI, and compiled forms of rows.
package config
