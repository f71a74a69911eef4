package truth_test

import (
	"fmt"

	"tamtam/saisim/truth"
)

// Two hosts are at one link. Two of three frames arrive, and the oracle reports the fate of the third.
func ExampleOracle() {
	oracle := truth.New(truth.Group{Name: "all"})
	h1, h2 := oracle.Host("h1"), oracle.Host("h2")
	oracle.Connect(truth.End{Node: h1}, truth.End{Node: h2})
	frame := make([]byte, 60)
	for id := range uint64(3) {
		sent := truth.Time{Ps: 1_000_000 * id}
		h1.Send(id, sent, frame, len(frame))
		if id == 1 {
			oracle.LinkLost(id, truth.End{Node: h2}, "a bit error")
			continue
		}
		h2.Arrive(id, truth.Time{Ps: sent.Ps + 5000 + id}, len(frame))
	}
	r := oracle.Reports()["all"]
	fmt.Println(r.Frames, "frames,", r.Delivered, "delivered,", r.InFlight, "in flight")
	fmt.Println(r.Lost[0].Count, "lost before", r.Lost[0].Node+":", r.Lost[0].Reason)
	fmt.Println("delays from", r.Delay.MinPs, "to", r.Delay.MaxPs, "ps")
	// Output:
	// 3 frames, 2 delivered, 0 in flight
	// 1 lost before h2: a bit error
	// delays from 5000 to 5002 ps
}
