package wire

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim"
)

// Frames leave the chip in the same cycles, in the same order, whether its time advances between those of one turn or
// only after all of them. Among them are segments of one arrival, which wait for their wire, frames that are late, and
// frames that arrive after the time that the chip may reach.
func TestDeliverIsExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		var left [2]string
		for i := range left {
			rnd := rand.New(rand.NewPCG(seed, 0))
			chip, _ := newChip(t, nil)
			var out strings.Builder
			chip.SetOutput(func(o *saisim.Out) { fmt.Fprintf(&out, "%d %d %x\n", o.Port, o.At, o.Data) })
			p := pump{Config: Config{Chip: chip}}
			for _, name := range []string{"Ethernet0", "Ethernet1"} {
				l := &line{}
				l.id, _ = chip.PortByName(name)
				chip.SetWire(l.id, true, 0)
				p.lines = append(p.lines, l)
			}
			for range 5 {
				now := chip.Now()
				end := now + 20_000
				for side, l := range p.lines {
					l.frames, l.next = turnOf(rnd, l.id, byte(side), now, end), 0
					if i == 1 {
						if n, err := chip.ReceiveAll(l.frames); err != nil {
							t.Fatal(n, err)
						}
					}
				}
				p.reached = end - saisim.Cycle(rnd.IntN(5000))
				if i == 0 {
					before := p.lines[0].Received + p.lines[1].Received
					p.deliver()
					if n := p.lines[0].Received + p.lines[1].Received - before; n != uint64(len(p.lines[0].frames)+
						len(p.lines[1].frames)) || chip.Now() > p.reached {
						t.Fatalf("%d frames received until cycle %d, which may reach %d", n, chip.Now(), p.reached)
					}
				}
				chip.Advance(p.reached)
			}
			chip.Advance(chip.Now() + 1_000_000)
			left[i] = out.String()
		}
		if left[0] != left[1] || strings.Count(left[0], "\n") < 50 {
			t.Errorf("%d frames left, want %d, and the same", strings.Count(left[0], "\n"), strings.Count(left[1], "\n"))
		}
	})
}

// turnOf returns the frames of a turn at a port.
func turnOf(rnd *rand.Rand, id saisim.PortID, side byte, now, end saisim.Cycle) (list []saisim.Arrival) {
	for at := now; at < end; at += saisim.Cycle(rnd.IntN(4000)) {
		var late saisim.Cycle
		if at == now {
			late = saisim.Cycle(rnd.IntN(2) * rnd.IntN(1000))
		}
		for range 1 + rnd.IntN(2)*rnd.IntN(30) {
			data := make([]byte, 60+rnd.IntN(1400))
			copy(data, []byte{2, 0, 0, 0, 0, 1 - side, 2, 0, 0, 0, 0, side, 0x88, 0xb5, byte(rnd.Uint32())})
			list = append(list, saisim.Arrival{Port: id, At: at, Frame: saisim.Frame{Data: data, Late: min(late, at)}})
		}
	}
	return list
}
