package forwardtest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Converge applies n random lines (see [Bench.Do]). It compares the resulting tables with those of fresh managers
// that receive the last version of each row, all at once and in another order. fresh starts managers on an empty
// server of their own. always are lines that are applied first in both.
func Converge(
	t *testing.T, rnd *rand.Rand, fresh func(*testing.T) *Bench, lines []string, n int, appl, state []string,
	always ...string,
) {
	t.Helper()
	b := fresh(t)
	for _, line := range always {
		b.Do(line)
	}
	var done []string
	last := map[string]string{}
	for range n {
		line := lines[rnd.IntN(len(lines))]
		done = append(done, line)
		if b.write(line); rnd.IntN(4) == 0 {
			b.consume(appl...) // orchagent consumes rows now and then
		}
		row, _, _ := strings.Cut(line, " ")
		if row != "restart" && row != "step" {
			last[strings.TrimPrefix(row, "-")] = line
		}
	}
	b.Step()

	once := fresh(t)
	for _, line := range always {
		once.Do(line)
	}
	var final []string
	for _, line := range last {
		final = append(final, line)
	}
	slices.Sort(final)
	rnd.Shuffle(len(final), func(i, j int) { final[i], final[j] = final[j], final[i] })
	once.Do(final...)

	for _, when := range []string{"", " and a restart"} {
		if when != "" {
			b.Do("restart")
		}
		if d := diff(once.Appl(appl...), b.Appl(appl...)); d != "" {
			t.Errorf("APPL_DB (-once +sequence):\n%safter%s\n%s", d, when, strings.Join(done, "\n"))
		}
		if d := diff(once.States(state...), b.States(state...)); d != "" {
			t.Errorf("STATE_DB (-once +sequence):\n%safter%s\n%s", d, when, strings.Join(done, "\n"))
		}
	}
}

// diff returns the lines that only one of the lists has.
func diff(want, got []string) string {
	var out strings.Builder
	for _, l := range want {
		if !slices.Contains(got, l) {
			out.WriteString("-" + l + "\n")
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			out.WriteString("+" + l + "\n")
		}
	}
	return out.String()
}
