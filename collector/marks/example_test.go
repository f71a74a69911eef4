package marks_test

import (
	"fmt"
	"time"

	"tamtam/collector/marks"
	"tamtam/tam/altmark"
)

// The reports of two switches about one flow group are joined period by period. A period's result is returned when both
// have reported it and the next two periods, because those reveal late packets.
func ExampleJoiner() {
	settings := altmark.Session{
		Role: altmark.Initiator, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true,
		ClockError: 10 * time.Millisecond, MaxDelay: 100 * time.Millisecond,
	}
	last := settings
	last.Role = altmark.Terminator
	path, err := marks.NewJoiner(marks.Path{Name: "west-east", Points: []marks.Point{
		{Switch: "leaf1", Session: "web", Settings: settings}, {Switch: "leaf2", Session: "web", Settings: last},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for k := range uint64(5) {
		sent := altmark.Period{Number: k, Colour: uint8(k & 1), Packets: 1000}
		came := sent
		if k == 1 {
			came.Packets -= 3
		}
		arrived := time.Unix(int64(k)+2, 0) // by the clock of the process that reads both switches
		for _, r := range append(path.Add(0, sent, arrived), path.Add(1, came, arrived)...) {
			fmt.Println(r.Period, r.Status, r.Sent, r.Received, r.Lost, r.LossValid)
		}
	}
	// Output:
	// 0 ok 1000 1000 0 true
	// 1 ok 1000 997 3 true
	// 2 ok 1000 1000 0 true
}
