// Package objectids translates between the virtual ids of objects, which ASIC_DB uses, and the real ones of the ASIC.
// It gives virtual ids to objects that came with the switch or a port, which it finds by queries to the ASIC.
package objectids
