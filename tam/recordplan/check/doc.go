// Package check checks record plans against the constraints of a switch, table I of the paper that package record
// names. It shares no code with the planner and does not depend on the search for plans. For programs with a small
// number of paths it also evaluates the plan by enumerating them.
package check
