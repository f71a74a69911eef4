// Package synthetic measures a collector with the stamps of a fleet that is made up: leaves and spines, flows between
// the leaves that come and go, and what their frames carry when they leave the network. Nothing of it is simulated but
// what the collector sees. What the store has at the end is held to what was sent, switch by switch.
//
// What belongs here: the fleet, and what is measured of a log and a store.
package synthetic
