// Package topology is the collector's model of the network: switches, hosts, and the links between their ports. It
// is read from its own file format, from a containerlab topology file, or from the switches' LLDP neighbours. The lab
// derives one from its experiments. The graphs of alternate marking and the paths of packets are built from it.
//
// Uncertain links, such as those that only one end reports, are not in it, but in its notes.
//
// What belongs here: the model, its files, and the join of LLDP views. What does not: connections to switches (package
// dial).
package topology
