// Package set executes a Set on the rows of CONFIG_DB. It parses paths and values ([Parse]), executes the steps in
// memory, finds all errors ([Faults]), and writes the result in one transaction ([Tx]). What belongs here: the effect
// of a Set, independent of its caller, and finding the rows that other nodes represent, by trying to set them ([Told]).
// Which Sets there are, and their other effects, belong elsewhere.
package set
