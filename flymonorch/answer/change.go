package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tamtam/tam/flymon"
)

// A FlowChange is a flow with the change of its count from one epoch to the next.
type FlowChange struct {
	Flow flymon.Vector
	flymon.Change
}

// Changes are the heavy changers among candidates, the greatest first. At least Sure of all candidates and at most
// Possible change by the threshold, if the bounds of each hold.
type Changes struct {
	List           []FlowChange
	Sure, Possible int
	// Full counters leave open whether a flow that is not in the list changed by so much.
	Full bool
}

// Change lists those of the candidates, each once, whose counts in two readings of one layout, of an epoch and of
// the next, differ by a threshold or more. Of all flows these are the heavy changers if each flow that reaches the
// threshold in either epoch is a candidate: a count that changes by so much reaches it in one of both.
func Change(before, after *Reading, candidates []flymon.Vector, threshold uint64) (c Changes) {
	seen := make(map[flymon.Vector]bool, len(candidates))
	least := float64(threshold)
	for _, v := range candidates {
		v = after.flow(v)
		if seen[v] {
			continue
		}
		seen[v] = true
		change := changed(before.Flow(v), after.Flow(v))
		if change.Confidence > 0 && change.Lower >= least {
			c.Sure++
		}
		if change.Confidence == 0 || change.Upper >= least {
			c.Possible++
		}
		if change.Value >= least {
			c.List = append(c.List, FlowChange{v, change})
		} else if change.Saturated {
			c.Full = true
		}
	}
	slices.SortFunc(c.List, func(a, b FlowChange) int {
		return cmp.Or(-cmp.Compare(a.Value, b.Value), slices.Compare(a.Flow[:], b.Flow[:]))
	})
	return c
}

// changed is by how much a count changed, up or down. It is within the bounds of both counts if these hold: each misses
// with at most one less its confidence, so both hold with at least the sum of the confidences less one. A full counter
// before or after leaves the change open above.
func changed(before, after flymon.Estimate) flymon.Change {
	c := flymon.Change{Before: before.Value, After: after.Value}
	c.Value, c.Saturated = math.Abs(after.Value-before.Value), before.Saturated || after.Saturated
	c.Confidence = before.Confidence + after.Confidence - 1
	if c.Confidence < leastChance { // also if either is 0
		c.Estimate = unknown(c.Estimate, fmt.Sprintf(
			"the bounds of the count before hold with %.3g, those of the count after with %.3g, which says nothing of both",
			before.Confidence, after.Confidence))
		return c
	}
	least, most := after.Lower-before.Upper, after.Upper-before.Lower // with its sign
	c.Lower, c.Upper = max(0, least, -most), max(most, -least)
	c.Bound = "the bounds of both counts; before: " + before.Bound + "; after: " + after.Bound
	return c
}
