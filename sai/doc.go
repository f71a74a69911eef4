// Package sai is SAI's object model in Go: object types, attributes and their
// metadata, typed values, statuses, and the one interface, [API], through which
// everything above the ASIC programs it.
//
// What belongs here: facts of SAI (metadata.txt, and the Go that is generated from it), the checks
// that SAI's own metadata library makes, and the text that SAI values have in ASIC_DB. What does
// not: Redis, packets, or any backend.
//
// An attribute is named by one number, an [AttrID], which holds the object type as well, so an
// attribute cannot silently be given to the wrong kind of object.
package sai

//go:generate go run ./internal/metagen metadata.txt zz_generated.go
