package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"tamtam/collector/capture"
)

// This example writes a capture of two frames that are out of order, and reads them in time order.
func Example() {
	var file bytes.Buffer
	w := capture.NewWriter(&file, "port1.pcap")
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	frame := make([]byte, 60)
	for _, err := range []error{
		w.Write(start.Add(2*time.Nanosecond), frame, 60),
		w.Write(start.Add(time.Nanosecond), frame[:14], 1500), // truncated
		w.Close(),
	} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	r, err := capture.NewReader(&file, "port1.pcap")
	if err != nil {
		fmt.Println(err)
		return
	}
	for sorted := capture.NewSorted(r); ; {
		p, err := sorted.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Number, p.Time.Sub(start), len(p.Data), p.Len, p.Cut())
	}
	// Output:
	// 2 1ns 14 1500 true
	// 1 2ns 60 60 false
}

// A damaged file causes an error with the position, and never an invented packet.
func ExampleError() {
	_, err := capture.NewReader(bytes.NewReader([]byte("GIF89a")), "picture.gif")
	fmt.Println(strings.ReplaceAll(err.Error(), "; ", "\n"))
	// Output:
	// picture.gif: file header at byte 0: magic number 47 49 46 38 is that of no known capture format
	// supported are pcap (microseconds or nanoseconds) and pcapng, packed by gzip or not
}
