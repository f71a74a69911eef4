package drop_test

import (
	"fmt"
	"testing"

	"tamtam/saisim/drop"
)

func ExampleReason() {
	dropped := map[drop.Reason]int{drop.TTL: 3, drop.Buffer: 1}
	for r := range drop.NumReasons {
		if n := dropped[r]; n > 0 {
			fmt.Println(r, n)
		}
	}
	// Output:
	// ttl 3
	// buffer 1
}

// Each reason has a word of its own.
func TestWords(t *testing.T) {
	reasons := map[string]drop.Reason{}
	for r := range drop.NumReasons {
		word := r.String()
		if other, taken := reasons[word]; taken || word == "" || word == "unknown" {
			t.Errorf("reason %d is %q, which is that of %d", r, word, other)
		}
		reasons[word] = r
	}
	if word := drop.NumReasons.String(); word != "unknown" {
		t.Errorf("a reason that there is not is %q", word)
	}
}

// What SAI has a word for is called by it.
func TestSAI(t *testing.T) {
	for r, want := range map[drop.Reason]string{
		drop.TTL: "SAI_IN_DROP_REASON_TTL", drop.NoRoute: "SAI_IN_DROP_REASON_LPM_MISS", drop.Blackhole: "SAI_IN_DROP_REASON_BLACKHOLE_ROUTE",
		drop.NoNeighbor: "SAI_IN_DROP_REASON_UNRESOLVED_NEXT_HOP", drop.WRED: "", drop.NumReasons: "",
	} {
		if got := r.SAI(); got != want {
			t.Errorf("%s: %q, want %q", r, got, want)
		}
	}
}
