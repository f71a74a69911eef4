package tsorch

import "fmt"

// The row of a session says what was counted since it was cleared. An ASIC without the window of
// tail-stamping tells of ACL counters alone.
func Example() {
	c := counters{cleared: map[string]sample{"web": {100, 6400}}}
	fmt.Println(c.row("web", sample{121, 7744}, false))
	c.hasWindow = true
	row := c.row("web", sample{121, 7744, 20, 1}, false)
	fmt.Println(row["MATCHED_PACKETS"], row["STAMPED_PACKETS"], row["NOT_STAMPED_NOT_TCP_UDP"])
	// Output:
	// map[MATCHED_BYTES:1344 MATCHED_PACKETS:21]
	// 21 20 1
}
