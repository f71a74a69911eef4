// Package sweep runs an experiment of the lab over seeds and parameters. Each combination is a job, and jobs share the
// cores of the machine. At the end there is a table and a plot of all results.
//
// A job's result is a file whose name is a hash of its inputs. The file gets this name only once it is complete. So an
// interrupted sweep continues where it stopped, and each result exists once.
//
// On a board, which consists of topics of a log, workers in any process run the jobs: see [Board].
//
// This package holds the file format of a sweep, its jobs and their statistics. Experiments belong to the lab.
package sweep
