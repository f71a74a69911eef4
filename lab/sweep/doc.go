// Package sweep runs an experiment of the lab over seeds and parameters: each combination is a job, jobs share the
// cores of the machine, and at the end there is a table and a plot of what all of them gave.
//
// A job's result is a file that is named by what went in, written whole before it has its name. So a sweep that was
// interrupted goes on where it was, and each result is there once.
//
// On a board, which is topics of a log, jobs are run by workers in any process: see [Board].
//
// What belongs here: the file of a sweep, its jobs and their statistics. Not: experiments, which are the lab's.
package sweep
