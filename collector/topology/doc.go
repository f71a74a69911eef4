// Package topology is the network as the collector sees it: switches, hosts, and the links between their ports. It is
// read from a file of its own, from a topology file of containerlab, or from what switches hear by LLDP; the lab makes
// one of its experiments. Alternate marking's graphs and the way of one packet are built from it.
//
// What is not certain, as a link that only one end tells of, is not in it but in its notes.
//
// What belongs here: the model, its files, and the join of LLDP's views. Not: connections to switches, which are
// dial's.
package topology
