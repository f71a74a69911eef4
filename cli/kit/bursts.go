package kit

import (
	"fmt"

	"tamtam/cli/tree"
)

// WriteBursts writes the bursts that a packet met in its queue, with the flows that made them.
func WriteBursts(p *Printout, packet tree.Node) {
	for _, b := range packet.Items("bursts") {
		p.Line("  %-15s  waited %s ns, during burst %s from %s, %s ns, at most %s bytes", "burst", packet.Text("wait"),
			b.Text("index"), b.Text("begin"), b.Text("duration"), b.Text("peak"))
		for _, f := range b.Items("flows") {
			bytes := f.Text("bytes") + " bytes"
			if over := f.Text("over"); over != "" {
				bytes = fmt.Sprintf("at most %s bytes, %s of them may be of others", f.Text("bytes"), over)
			}
			p.Line("  %-15s  %s: %s", "", f.Text("flow"), bytes)
		}
		if rest := b.Text("rest"); rest != "0" {
			p.Line("  %-15s  other flows have at most %s bytes each", "", rest)
		}
	}
}
