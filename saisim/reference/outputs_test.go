package reference_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"

	"tamtam/saisim"
)

// logOutputs prints hashes of the output of the engines in a case: all frames that left, and the accounts at every
// comparison. "make outputs" requests and reads them.
func logOutputs(t *testing.T, seed uint64, p *pair) {
	if os.Getenv("TAMTAM_OUTPUTS") == "" {
		return // the hash takes longer than the case
	}
	counts := make([]saisim.FrameCounts, len(p.refFrames))
	for i, b := range p.refFrames {
		counts[i] = *b
	}
	fast, ref := outputHash(p.fastOut, p.fastFrames), outputHash(p.refOut, counts)
	t.Logf("outputs of seed %d: fast %s, reference %s", seed, fast, ref)
}

func outputHash(frames []sent, counts []saisim.FrameCounts) string {
	h := sha256.New()
	for _, f := range frames {
		fmt.Fprintln(h, f)
	}
	for _, b := range counts {
		fmt.Fprintf(h, "%v\n", b)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
