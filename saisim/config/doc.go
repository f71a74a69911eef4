// Package config is the configuration of a chip as plain data. SAI objects are translated to rows of
// its tables; the packet path compiles the rows, and the reference reads them as they are.
//
// A [Change] is what one call of control does: rows that are put in the place of those of the same
// key, or of none, and rows that are gone, in this order. What a chip learns, counts or derives is no
// configuration and has no row.
package config
