package reference_test

import (
	"fmt"
	"os"
	"strconv"

	"tamtam/saisim"
)

// pathVariable is the environment variable that selects the path of packets through the chip. It holds the vector
// length, or "windows" for an edge length picked by the seed. If it is empty, the seed picks among all lengths,
// including the path event by event.
const pathVariable = "TAMTAM_VECTOR"

// vectorOf returns the maximum vector length of the chip of a seed. Zero means that it runs event by event.
func vectorOf(seed uint64) (int, error) {
	switch s := os.Getenv(pathVariable); s {
	case "":
		return []int{64, 1, 63, 0, 2, 64, 64}[seed/2%7], nil
	case "windows":
		return []int{1, 2, 63, 64}[seed/16%4], nil
	default:
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 64 {
			return 0, fmt.Errorf("%s is %q, want 0 to 64, windows, or nothing for what the seed says", pathVariable, s)
		}
		return n, nil
	}
}

// longPackets is the number of frames of long cases. They have no control event between the first and the last.
const longPackets = 10_000

// isLong reports whether the case of a seed is a long one. Long cases are a quarter of the seeds of a soak and of "make
// differential". In the gate, which has to be quick, they are 1 of 100. None of the seeds that "make outputs" compares
// with older commits is long.
func isLong(seed uint64) bool {
	return seed >= 2_000_000 && seed/4%4 == 0 || seed < 10_000 && (seed%200 == 51 || seed%200 == 152)
}

// isUsual reports whether most frames of the case of a seed take the shortcuts. This holds for a third of the seeds,
// and in the gate for one of 11.
func isUsual(seed uint64) bool {
	return seed >= 2_000_000 && seed/32%3 == 0 || (seed < 10_000 || isAdded(seed) || isVRF(seed) || isSubPort(seed) ||
		isBuffered(seed) && seed < 70_000) && seed%11 == 1
}

// packetsOf returns the minimum number of frames of the case of a seed.
func packetsOf(seed uint64) int {
	if isLong(seed) {
		return longPackets
	}
	return casePackets
}

// runCalm sends n frames or slightly more to both engines. In the meantime, nothing is configured or read.
func (p *pair) runCalm(n int) error {
	p.advance(max(p.chip.Now(), p.last) + 1) // all batches of control have taken effect
	for p.packets < n && len(p.chip.Ports()) > 0 {
		burst := min(1+p.IntN(2000), n-p.packets)
		window := uint64(burst) * uint64(1+p.IntN(40))
		if err := p.burst(burst, window); err != nil {
			return err
		}
		for range 1 + p.IntN(4) {
			p.advance(p.chip.Now() + saisim.Cycle(p.Uint64N(window/2+2)))
			if p.queueDiffers() {
				return fmt.Errorf("queues differ at cycle %d", p.chip.Now())
			}
		}
	}
	return p.finish()
}

// finish runs both engines until they are empty, and compares all of their state.
func (p *pair) finish() error {
	p.drain()
	if err := p.readAll(); err != nil {
		return err
	}
	p.drain()
	return p.compare()
}
