//go:build race

package recordplan

// bounded: the race detector does not allow the way in which the solver is stopped.
const bounded = false
