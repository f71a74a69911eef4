// Package marks computes loss, delay and jitter from alternate marking. It joins the reports of a path's points, period
// by period. A [Joiner] handles a path, a [Mesh] a graph of points, and a [TwoWay] the round trip over two paths. A
// [Drill] locates the links at which a graph loses packets, and a [Blame] compares the losses of several graphs.
//
// Its only input is reports, as [tamtam/tam/altmark] defines them. It does not depend on packets, switches or the
// source of reports. Everything is computed from integers, so that equal input gives equal output.
package marks
