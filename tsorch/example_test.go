package tsorch

import (
	"fmt"

	"tamtam/swss"
)

// The row of a session contains only numbers that were read. Here they are those of the ACL counter, as on a chip
// without the register read of tail-stamping.
func Example() {
	row := swss.FieldValues{}
	put(row, fromACL, []uint64{21, 1344})
	_, stamped := row["STAMPED_PACKETS"]
	fmt.Println(row, stamped)
	// Output:
	// map[MATCHED_BYTES:1344 MATCHED_PACKETS:21] false
}
