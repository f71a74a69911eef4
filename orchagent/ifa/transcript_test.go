package ifa

import (
	"flag"
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

// The transcripts hold. "switch-id 7" sets the switch's id, "no-way" removes the path to collectors, "way" restores it.
func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, _ []string) (*orchtest.Bench, func(string)) {
			b := newBench(t)
			return b.Bench, func(line string) {
				switch line {
				case "switch-id 7":
					b.world.IDs = schema.TAMSwitchInUse{SwitchID: 7, HasSwitchID: true}
					b.world.Renamed.Publish(b.Ctx, struct{}{})
					return
				case "no-way":
					b.sender.err = orch.Wait("route", "c", "no way")
				case "way":
					b.sender.err = nil
				default:
					b.T.Fatalf("unknown line %q", line)
				}
				b.sender.changes.Publish(b.Ctx, struct{}{})
			}
		},
		State:  []string{schema.StateTAMDevice, schema.StateTAMIFA, schema.StateTAMFeature},
		Update: *update,
	}.Run(t)
}
