// Package set executes a Set on the rows of CONFIG_DB. It parses paths and values ([Parse]), executes the steps in
// memory, finds all errors ([Faults]), and writes the result in one transaction ([Tx]). What belongs here: the effect
// of a Set, independent of its caller. The package also finds the rows that other nodes represent, by trying to set
// them ([Reported]). The kinds of requests that lead to a Set, and their other effects, belong elsewhere.
package set
