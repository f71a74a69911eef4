// Package protocol has the words of ASIC_DB: names of keys and operations, virtual object ids, and messages with
// attributes as text. It knows no client and no server.
package protocol
