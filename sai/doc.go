// Package sai is SAI's object model in Go: object types, attributes and their metadata, typed values, statuses, and
// the one interface, [API], through which everything above the ASIC programs it.
//
// This package contains facts of SAI (metadata.txt, and the Go that is generated from it), and the checks of SAI's
// own metadata library. It also contains the text form of SAI values in ASIC_DB. It contains no Redis, packets, or
// backend.
//
// An attribute is identified by one number, an [AttrID], which includes the object type. So an attribute cannot be
// given to the wrong type of object unnoticed.
package sai

//go:generate go run ./internal/metagen metadata.txt zz_generated.go
