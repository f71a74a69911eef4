// Package sketch implements the estimators of sketches, which derive properties of the traffic from a sketch's
// counters, strings or bits. Functions are pure. Their arguments are buckets as slices, or the buckets of a flow.
//
// What belongs here: estimators from the literature, with the theory of their errors, and software sketches for
// comparison in experiments. What does not: the place of buckets on a chip, I/O.
package sketch
