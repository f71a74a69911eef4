// Package switchpage is the page of one switch, for a browser: what the switch says of itself, read from its databases
// while somebody looks, behind the same users as gNMI and RESTCONF.
//
// What one switch cannot know, it says: the ways of flows and packets, and what was lost between two switches, take a
// collector.
//
// What belongs here: from rows of databases to what package page shows, and who is let in. Not: how it is shown.
package switchpage
