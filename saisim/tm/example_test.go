package tm_test

import (
	"fmt"

	"tamtam/saisim/tm"
)

// A memory of ten cells of 256 bytes drops packets that do not fit, and a strict queue is served before the others.
func ExamplePort() {
	port := tm.NewPort[string](tm.NewBuffer(256, 10), 0, 2)
	port.Configure(1, tm.Settings{Discipline: tm.Discipline{Strict: true}})
	for _, p := range []struct {
		name  string
		queue int
		bytes uint32
	}{{"bulk", 0, 1500}, {"voice", 1, 200}, {"more bulk", 0, 1500}, {"video", 1, 600}} {
		if v := port.Enqueue(p.queue, p.name, p.bytes, false); v == tm.Full {
			fmt.Println("no room for", p.name)
		}
	}
	for port.Len() > 0 {
		name, queue := port.Dequeue()
		fmt.Println("queue", queue, "gives", name)
	}
	fmt.Println(port.Queue(0).Counts.DroppedBytes, "bytes dropped")
	// Output:
	// no room for more bulk
	// queue 1 gives voice
	// queue 1 gives video
	// queue 0 gives bulk
	// 1500 bytes dropped
}
