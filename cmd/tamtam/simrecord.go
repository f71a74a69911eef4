package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"tamtam/collector"
	"tamtam/device"
	"tamtam/tam/record"
)

// writeRecordings prints what sessions of table recording did.
func writeRecordings(w io.Writer, r *device.Report) {
	if len(r.TableRecord) == 0 {
		return
	}
	fmt.Fprintln(w, "\nSession\tFlow group\tStatus\tPlan\tTables\tEntropy\tMatched\tNot sampled\tRecords\tLost")
	for _, name := range device.SortedKeys(r.TableRecord) {
		s := r.TableRecord[name]
		if s.PlanReport == nil || s.RecordCounts == nil {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, s.FlowGroup, s.Status, s.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.3g of %.3g bits\t%d\t%d\t%d\t%d\n",
			name, s.FlowGroup, s.Status, s.PlanID, len(s.Tables),
			s.Entropy, s.Full, s.Matched, s.NotSampled, s.Recorded, s.Lost)
	}
}

// demoRecords decodes what a switch of the demo has sent to its collector.
func demoRecords(cmd *cobra.Command, dir string) error {
	w := cmd.OutOrStdout()
	file, planFile := filepath.Join(dir, "Ethernet8.pcap"), filepath.Join(dir, "record-paths.plan.json")
	plan, err := collector.ReadPlan(planFile)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n== Which way every packet of the client took through leaf1's tables, "+
		"from the records that its collector got\n\n")
	options := collector.RecordOptions{Plans: []*record.Plan{plan}}
	if err := collector.DecodeRecords(cmd.Context(), w, file, options); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe records are in %s; look at them with\n  go run ./cmd/tamtam decode record %s --plan %s\n",
		file, file, planFile)
	return nil
}
