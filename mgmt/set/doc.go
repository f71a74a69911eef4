// Package set is a Set on the rows of CONFIG_DB: it parses paths and values ([Parse]), executes the steps in memory,
// finds all that is wrong with them ([Faults]), and writes what comes of them at once ([Tx]). What belongs here: what
// a Set does, whoever asks for it, and what is told of rows by trying to set them ([Told]). Which Sets there are, and
// what else they do, is no matter of it.
package set
