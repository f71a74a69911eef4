// Package query is the language of questions about rows: which rows a filter selects, in which order, and in which
// groups. The page, gNMI operations and the shell share it.
//
// A filter compares fields with values, and joins comparisons by and, or, not and parentheses:
//
//	src-ip in 10.0.0.0/8 and delay.p99 > 50us and drop.reason = acl
//	not (switch in (leaf1, leaf2) or lost = 0) and delay.p99 is known
//
// A value may be unknown, and a number may be known only within bounds. A comparison then has three outcomes: yes, no
// and unknown, which and, or and not combine by Kleene's logic. A filter selects the rows whose outcome is yes. It
// counts the rows whose outcome is unknown: an unknown value is neither zero nor equal to anything. For example,
// "delay > 50us" is unknown for a row without delay, and for one with a delay between 48 and 56 µs.
//
// A field may have several values in a row, such as the switches of a path. A comparison is then met if one of the
// values meets it, and != and "not in" are met if none does.
//
// Each kind of row declares its fields in a [Table], with functions that read them from a row. A filter is compiled
// once; the evaluation of a row allocates nothing.
//
// What belongs here: the language, evaluation, order, groups, and the values of a row for export. What does not: rows,
// and pages, operations or commands that show them.
package query
