// Package replica copies a value with everything that it leads to, so that the copy can go on by itself: nothing that
// either does is seen by the other. It is for a whole packet path, which has thousands of values that point at each
// other, also into the middle of others; whoever adds a field need not think of it.
//
// What belongs here: memory. What does not: what the values mean. Two things cannot be copied: what a function has
// captured, so functions are nil in the copy, and channels, which are an error.
package replica
