package tailstamp_test

import (
	"fmt"
	"time"

	"tamtam/saisim/tailstamp"
)

// Two switches stamp a frame. A receiver finds both records after the payload.
func ExampleDecode() {
	frame := make([]byte, 60)
	frame[12], frame[13] = 0x08, 0x00 // IPv4
	frame[14], frame[17] = 0x45, 46   // IPv4 header with a total length of 46 bytes
	at := tailstamp.At(time.Unix(1700000000, 0))
	for hop, latency := range []uint32{850, 1240} {
		left := at
		left.Nanoseconds += latency
		frame = tailstamp.V1{}.Append(frame, tailstamp.Record{
			SwitchID: uint32(hop + 1), Ingress: at, Egress: left, OutPort: 4,
		})
		at = left
	}
	records, end := tailstamp.Decode(frame)
	fmt.Println("payload ends at", end)
	for _, r := range records {
		latency, taken := r.Latency()
		fmt.Printf("switch %d, out of Ethernet%d: %v %v\n", r.SwitchID, r.OutPort, latency, taken)
	}
	// Output:
	// payload ends at 60
	// switch 1, out of Ethernet4: 850ns true
	// switch 2, out of Ethernet4: 1.24µs true
}
