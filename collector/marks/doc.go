// Package marks computes loss, delay and jitter from alternate marking: it joins what the points of a path report,
// period by period. A [Joiner] does that for a path, a [Mesh] for a graph of points, and a [TwoWay] for the round trip
// over two paths. A [Drill] looks for the links at which a graph loses packets, and a [Blame] compares the losses of
// several graphs.
//
// It knows reports only, which [tamtam/tam/altmark] defines: neither packets nor switches nor where reports come from.
// Everything is computed from integers, so that equal input gives equal output.
package marks
