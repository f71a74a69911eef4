package ipfix_test

import (
	"fmt"
	"strings"

	"tamtam/tam/ipfix"
)

// ExampleOwn prints tamtam's elements as the table in docs/reference/ipfix.md.
func ExampleOwn() {
	fmt.Println("| id | element | type | |")
	fmt.Println("| --- | --- | --- | --- |")
	for _, e := range ipfix.Own() {
		row, text := fmt.Sprintf("| %d | `%s` | %s", e.ID, e.Name, e.Type), e.Text
		for len(text) > 80 { // continue on a further line with empty cells in front
			end := strings.LastIndex(text[:80], ", ") + 1
			fmt.Printf("%s | %s |\n", row, text[:end])
			row, text = "| | |", text[end+1:]
		}
		fmt.Printf("%s | %s |\n", row, text)
	}
	// Output:
	// | id | element | type | |
	// | --- | --- | --- | --- |
	// | 1 | `tamtamSwitchId` | unsigned32 | switch of a hop |
	// | 2 | `tamtamHopIndex` | unsigned16 | place of the hop on the path, from 1 |
	// | 3 | `tamtamHopCount` | unsigned16 | hops that stamped the frame |
	// | 4 | `tamtamHopFlags` | unsigned32 | 1 no egress time, 2 clock not synchronised, 4 no residence, 8 no link delay, |
	// | | | | 16 no ingress time, 32 no usable egress time, |
	// | | | | 64 clock set while the frame was in the switch, 128 found by search |
	// | 5 | `tamtamResidence` | signed64 | departure minus arrival at the hop |
	// | 6 | `tamtamLinkDelay` | signed64 | arrival minus departure at the hop before |
	// | 7 | `tamtamFrameNumber` | unsigned64 | number of the frame among those read, from 1 |
	// | 16 | `tamtamPath` | string | path of alternate marking |
	// | 17 | `tamtamFrom` | string | switch that the segment begins at |
	// | 18 | `tamtamTo` | string | switch that the segment ends at; as the first: there and back |
	// | 19 | `tamtamPeriod` | unsigned64 | time of day / interval |
	// | 20 | `tamtamPeriodStatus` | unsigned8 | 1 ok, 2 flagged, 3 missing |
	// | 21 | `tamtamReasons` | string | why the period is not ok |
	// | 22 | `tamtamRevised` | boolean | takes the place of an earlier record of the period |
	// | 23 | `tamtamSentPackets` | unsigned64 | packets at the segment's begin |
	// | 24 | `tamtamSentOctets` | unsigned64 | octets of frames at the segment's begin |
	// | 25 | `tamtamLostPackets` | signed64 | sent minus received |
	// | 26 | `tamtamDelay` | signed64 | of the marked packet, by synchronised clocks |
	// | 27 | `tamtamRawDelay` | signed64 | of the marked packet, with the difference of the clocks |
	// | 28 | `tamtamJitter` | signed64 | delay minus that of the period before |
	// | 29 | `tamtamWindowDelays` | unsigned32 | delays in the window |
	// | 30 | `tamtamWindowMinDelay` | signed64 | least delay of the window |
	// | 31 | `tamtamWindowMeanDelay` | signed64 | mean delay of the window |
	// | 32 | `tamtamWindowMaxDelay` | signed64 | greatest delay of the window |
	// | 48 | `tamtamDropEvent` | unsigned8 | 1 a packet, 2 a flow begins, 3 goes on, 4 has ended, 5 made room |
	// | 49 | `tamtamDropReason` | unsigned8 | why it was dropped |
	// | 50 | `tamtamDropStage` | unsigned8 | 1 ingress, 2 at its queue, 3 egress |
	// | 51 | `tamtamDropFlags` | unsigned8 | 1 clock not synchronised, 2 no time, 4 mirror copy, 8 copy for the CPU, |
	// | | | | 16 the CPU has it, 32 frame cut |
	// | 52 | `tamtamQueue` | unsigned8 | queue of the egress port |
	// | 53 | `tamtamQueueDepth` | unsigned32 | octets that stood in the queue |
	// | 54 | `tamtamQueueFiller1` | unsigned32 | interface with most octets in the queue; 0 none, 4294967295 no port's |
	// | 55 | `tamtamQueueFilled1` | unsigned32 | octets of that in the queue |
	// | 56 | `tamtamQueueFiller2` | unsigned32 | the second |
	// | 57 | `tamtamQueueFilled2` | unsigned32 | octets of the second |
	// | 58 | `tamtamQueueFiller3` | unsigned32 | the third |
	// | 59 | `tamtamQueueFilled3` | unsigned32 | octets of the third |
	// | 60 | `tamtamDropReasonIngress` | unsigned8 | why it was dropped in front of its queue, plus 1; 0 it was not |
	// | 61 | `tamtamDropReasonEgress` | unsigned8 | why it was dropped at its queue or behind, plus 1; 0 it was not |
	// | 62 | `tamtamUserMetadata` | unsigned16 | not in use, 0 |
	// | 63 | `tamtamClassOfService` | unsigned8 | queue that it asked for room, or 0 |
	// | 64 | `tamtamObjectName` | string | object whose statistic the field is |
	// | 65 | `tamtamObjectLabel` | unsigned16 | label of the object in its stream |
	// | 66 | `tamtamSampleInterval` | unsigned64 | time between two records of the template; 0 unknown |
	// | 67 | `tamtamReplacedTemplate` | unsigned16 | template whose place in the stream this one takes; 0 none |
}
