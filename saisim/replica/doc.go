// Package replica makes a deep copy of a value and of everything reachable from it. The copy is independent: no change
// of one is visible in the other. It is for a complete packet path, which has thousands of values that point to each
// other, also into the middle of others. New fields need no extra code.
//
// This package handles memory, not the meaning of values. Two things cannot be copied: captured variables of functions,
// so functions are nil in the copy, and channels, which are an error.
package replica
