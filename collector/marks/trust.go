package marks

import (
	"fmt"
	"slices"
	"time"

	"tamtam/tam/altmark"
)

// Delays are differences of two clocks. Each point reports the evidence for its own clock. Only their join can detect
// that both follow the clock of the same kernel.

// clockError returns the clock error A between points i and j.
func (m *Joiner) clockError(i, j int) time.Duration {
	return max(m.path.Points[i].Settings.ClockError, m.path.Points[j].Settings.ClockError)
}

// oneKernel reports whether the clocks of two reports follow the same kernel and are within A of each other. The
// kernel's clock may have been set between the starts of the switches. A chip whose own clock is not synchronised
// reports no kernel.
func (m *Joiner) oneKernel(a, b pointReading) bool {
	least := m.path.Points[0].Settings.ClockError
	for _, p := range m.path.Points {
		least = min(least, p.Settings.ClockError)
	}
	return a.Clock.Kernel != "" && a.Clock.Kernel == b.Clock.Kernel && (a.Clock.Ahead-b.Clock.Ahead).Abs() <= least
}

// flags returns the flags of a report in words, without the flags that the other point compensates.
func (m *Joiner) flags(of, other pointReading) string {
	if !m.oneKernel(of, other) || of.Flags&altmark.Unsynchronised == 0 {
		if says := of.Clock.Says; of.Flags&altmark.Unsynchronised != 0 && says != "" {
			return fmt.Sprintf("%s: %s", of.Flags, says)
		}
		return of.Flags.String()
	}
	return (of.Flags &^ altmark.Unsynchronised).String()
}

// declared adds a notice, once per path, that the accuracy of its delays depends on the operator's declaration.
func (m *Joiner) declared(name string, c altmark.Clock) {
	notice := fmt.Sprintf("the clock of %s is %s: delays are as good as that", name, altmark.SaysDeclared)
	if c.Says == altmark.SaysDeclared && !slices.Contains(m.notices, notice) {
		m.notices = append(m.notices, notice)
	}
}
