// Package protocol defines the format of ASIC_DB: names of keys and operations, virtual object ids, and messages with
// attributes as text. It depends on neither client nor server.
package protocol
