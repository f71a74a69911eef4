//go:build race

package recordplan

// bounded is false because the race detector does not allow the method that stops the solver.
const bounded = false
