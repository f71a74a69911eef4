package qos

import (
	"flag"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/swss/schema"
)

var update = flag.Bool("update", false, "write the results into the transcripts")

func TestTranscripts(t *testing.T) {
	orchtest.Transcript{
		Start: func(t *testing.T, _ []string) (*orchtest.Bench, func(string)) {
			b := newBench(t)
			return b.Bench, func(line string) { b.ports.Line(b.Bench, line) }
		},
		State: []string{
			schema.AppDSCPToTC, schema.AppDot1pToTC, schema.AppTCToQueue, schema.AppPortQoS, schema.AppScheduler,
			schema.AppWRED, schema.AppQueue, schema.AppBufferPool, schema.AppBufferProfile, schema.AppBufferQueue,
			schema.AppTCToPG, schema.AppPFCToQueue, schema.AppPFCToPG, schema.AppBufferPG,
		},
		Update: *update,
	}.Run(t)
}
