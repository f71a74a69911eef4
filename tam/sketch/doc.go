// Package sketch has the estimators of sketches: what the counters, strings or bits that a
// sketch has left say about the traffic. Functions are pure; they take buckets as slices,
// and for a flow the buckets that it has.
//
// What belongs here: estimators from the literature, with what theory says of their errors, and the
// sketches in software that experiments compare with. What does not: where buckets are on a chip,
// I/O.
package sketch
