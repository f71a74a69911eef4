// Package synthetic measures a collector with the stamps of a synthetic fleet: leaves and spines, flows between the
// leaves that come and go, and the stamps of their frames when they leave the network. Only the input of the collector
// is generated, nothing else is simulated. At the end the contents of the store are compared with what was sent, switch
// by switch.
//
// What belongs here: the fleet, and the measurement of a log and a store.
package synthetic
