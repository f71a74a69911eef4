package dropreport_test

import (
	"testing"

	"tamtam/tam/dropreport"
)

// Numbers that were once used in reports, or by another version's daemon, never change. These lists only grow at their
// ends.
func TestNumbersAreFixed(t *testing.T) {
	fixed := func(what string, all, want []int) {
		t.Helper()
		for i, n := range all {
			if len(all) != len(want) || n != want[i] {
				t.Fatalf("%s are %d, they have been %d", what, all, want)
			}
		}
	}
	var groups []int
	for _, g := range []dropreport.Group{
		dropreport.In, dropreport.Out, dropreport.Queue, dropreport.Flow, dropreport.Frame, dropreport.IPv4, dropreport.IPv6,
		dropreport.L4, dropreport.MAC, dropreport.NumGroups,
	} {
		groups = append(groups, int(g))
	}
	fixed("groups", groups, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	fixed("events", []int{
		int(dropreport.EventPacket), int(dropreport.EventBegun), int(dropreport.EventGoesOn), int(dropreport.EventEnded),
		int(dropreport.EventEvicted),
	}, []int{1, 2, 3, 4, 5})
	fixed("stages", []int{
		int(dropreport.StageIngress), int(dropreport.StageMMU), int(dropreport.StageEgress),
	}, []int{1, 2, 3})
	fixed("flags", []int{
		dropreport.FlagUnsynchronised, dropreport.FlagNoTime, dropreport.FlagMirror, dropreport.FlagCPU,
		dropreport.FlagPunted, dropreport.FlagCut,
	}, []int{1, 2, 4, 8, 16, 32})
	fixed("words", []int{
		dropreport.WordDrops, dropreport.WordPunted, dropreport.WordSampledOut, dropreport.WordRateLimited,
		dropreport.WordReports, dropreport.WordFlowsBegun, dropreport.WordFlowsEnded, dropreport.WordFlowsEvicted,
		dropreport.WordSent, dropreport.WordNotSendable, dropreport.WordLost, dropreport.WordTemplates, dropreport.NumWords,
	}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	fixed("templates", []int{
		dropreport.FirstTemplate, dropreport.IFATemplate, dropreport.InfoMask,
	}, []int{256, 65280, 96})
}
