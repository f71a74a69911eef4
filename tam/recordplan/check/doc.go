// Package check checks record plans against the constraints of a switch, table I of the
// paper that package record names. It shares no code with the planner, and knows nothing
// of how plans are found; where a program has few paths, it also weighs the plan by
// enumerating them.
package check
