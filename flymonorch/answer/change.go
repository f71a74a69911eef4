package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tamtam/tam/flymon"
)

// A FlowChange is a flow with the change of its count between consecutive epochs.
type FlowChange struct {
	Flow flymon.Vector
	flymon.Change
}

// Changes holds the heavy changers among candidates, the greatest first. At least Sure and at most Possible of all
// candidates change by the threshold, if the bounds of each hold.
type Changes struct {
	List           []FlowChange
	Sure, Possible int
	// Full means that saturated counters may hide further heavy changers.
	Full bool
}

// Change returns the candidates, without duplicates, whose counts in two readings of one layout, of consecutive epochs,
// differ by the threshold or more. If every flow that reaches the threshold in either epoch is a candidate, these are
// all heavy changers. A count that changes by that much reaches the threshold in one of the epochs.
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

// changed returns the change of a count, up or down. The change is within its bounds if the bounds of both counts hold.
// Each fails with at most one minus its confidence, so both hold with at least the sum of the confidences minus one. A
// full counter before or after leaves the change without an upper bound.
func changed(before, after flymon.Estimate) flymon.Change {
	c := flymon.Change{Before: before.Value, After: after.Value}
	c.Value, c.Saturated = math.Abs(after.Value-before.Value), before.Saturated || after.Saturated
	c.Confidence = before.Confidence + after.Confidence - 1
	if c.Confidence < leastChance { // also true if either confidence is 0
		c.Estimate = unknown(c.Estimate, fmt.Sprintf(
			"the bounds of the count before hold with %.3g, those of the count after with %.3g, which says nothing of both",
			before.Confidence, after.Confidence))
		return c
	}
	least, most := after.Lower-before.Upper, after.Upper-before.Lower // bounds of the signed change
	c.Lower, c.Upper = max(0, least, -most), max(most, -least)
	c.Bound = "the bounds of both counts; before: " + before.Bound + "; after: " + after.Bound
	return c
}
