package collector

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"tamtam/tam/recordplan"
)

// shownRows is the maximum number of rows per table in a text report.
const shownRows = 40

// WriteJSON writes r as one JSON object.
func (r *RecordReport) WriteJSON(out io.Writer) error { return writeIndented(out, r) }

// WriteJSON writes d as one JSON object.
func (d *RecordDifference) WriteJSON(out io.Writer) error { return writeIndented(out, d) }

func writeIndented(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// WriteText writes r as tables, times in nanoseconds.
func (r *RecordReport) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s: %s, %d without", plural(r.Frames, "frame"), plural(r.Records, "record"), r.Other)
	if r.Cut > 0 {
		fmt.Fprintf(out, ", %d cut by the snap length", r.Cut)
	}
	if r.Fragments > 0 {
		fmt.Fprintf(out, ", %s that could not be joined", plural(r.Fragments, "fragment"))
	}
	if r.Wrong > 0 {
		fmt.Fprintf(out, ", %d whose record is not as long as the plan's", r.Wrong)
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(out, ", %d of other flows", r.LeftOut)
	}
	fmt.Fprintln(out)
	writeMissed(out, r.Missed)
	for _, u := range r.Unknown {
		fmt.Fprintf(out, "%s of plan %d, which was not given\n", plural(u.Records, "record"), u.ID)
	}
	if r.Further > 0 {
		fmt.Fprintf(out, "%s of further plans, which were not given\n", plural(r.Further, "record"))
	}
	for i := range r.Plans {
		if err := r.Plans[i].writeText(out, r.Memory); err != nil {
			return err
		}
	}
	if r.Error != "" {
		fmt.Fprintf(out, "\nincomplete: %s\n", r.Error)
	}
	return nil
}

func (r *RecordPlanReport) writeText(out io.Writer, memory int64) error {
	name := r.Pipeline
	if r.Program != "" {
		name = r.Program + " " + name
	}
	fmt.Fprintf(out, "\nplan %d: %s, %s bits, %s\n", r.ID, name, r.PHV, r.Mode)
	if r.Packets == 0 {
		_, err := fmt.Fprintln(out, "no records")
		return err
	}
	fmt.Fprintf(out, "%s: %d with an exact path, %d with several, %d impossible",
		plural(r.Packets, "packet"), r.Exact, r.Ambiguous, r.Impossible)
	if r.Beyond > 0 {
		fmt.Fprintf(out, ", %d of too many distinct records to list", r.Beyond)
	}
	fmt.Fprintln(out)
	r.writeBeyond(out, memory)
	fmt.Fprintf(out, "%d of %s paths seen, %.3g %%%s\n\n", r.Coverage.Seen, r.Coverage.All, 100*r.Coverage.Share,
		r.listed())
	if err := writePaths(out, r.Paths); err != nil {
		return err
	}
	r.writeDrops(out)
	r.Coverage.writeTables(out)
	writeSuspicions(out, r.Suspicions)
	return nil
}

// listed explains why the list of paths is longer than the number of paths that were seen; "" if it is not.
func (r *RecordPlanReport) listed() (text string) {
	exact, all := 0, len(r.Paths)
	for i := range r.Paths {
		if r.Paths[i].Paths == "1" {
			exact++
		}
	}
	if exact > r.Coverage.Seen {
		text = fmt.Sprintf(", by the tables that ran; the %d below differ also in what hit", all)
	}
	switch {
	case exact == all:
	case text == "":
		text = fmt.Sprintf("; %d of the %d below are not exact", all-exact, all)
	default:
		text += fmt.Sprintf(", and %d of them are not exact", all-exact)
	}
	return text
}

// writeBeyond writes the counts of data that exceeded the limits.
func (r *RecordPlanReport) writeBeyond(out io.Writer, memory int64) {
	if r.BeyondPorts > 0 {
		fmt.Fprintf(out, "%s of arrival or fates of packets not separated (--ports)\n", plural(r.BeyondPorts, "port"))
	}
	if r.Unranked > 0 {
		fmt.Fprintf(out, "%s of which no percentiles are known, since %s were spent (--memory)\n",
			plural(r.Unranked, "path"), memoryText(memory))
	}
	if r.BeyondKinds > 0 {
		fmt.Fprintf(out, "%s of more than %d kinds, by which --compare suspects no table\n",
			plural(r.BeyondKinds, "packet"), maxKinds)
	}
}

// writeTables lists tables that no packet ran, or hit.
func (c *RecordCoverage) writeTables(out io.Writer) {
	for _, list := range []struct {
		what   string
		tables []string
	}{{"tables that no recorded packet ran", c.Never}, {"tables that no recorded packet hit", c.NoHit}} {
		if len(list.tables) > 0 {
			fmt.Fprintf(out, "\n%s: %s\n", list.what, strings.Join(list.tables, ", "))
		}
	}
}

func writeSuspicions(out io.Writer, list []recordplan.Suspicion) {
	if len(list) > 0 {
		fmt.Fprintln(out, "\nsuspicions:")
	}
	for _, s := range list {
		fmt.Fprintf(out, "  %s\n", s)
	}
}

func writePaths(out io.Writer, paths []PathTotal) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "path\tpackets\tshare %\tmin ns\tavg\tp50\tp99\tmax\t")
	sketched, unranked := false, false
	for i, p := range paths[:min(len(paths), shownRows)] {
		l := p.Latency
		sketched, unranked = sketched || l.Within > 0, unranked || l.Unranked
		fmt.Fprintf(w, "%d\t%d\t%.2f\t", i+1, p.Packets, 100*p.Share)
		if l.Count == 0 {
			fmt.Fprint(w, "-\t-\t-\t-\t-\t\n")
		} else {
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%d\t\n", l.Min, l.Avg, l.percentile(l.P50), l.percentile(l.P99), l.Max)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if sketched {
		fmt.Fprintln(out, sketchedNote)
	}
	if unranked {
		fmt.Fprintln(out, unrankedNote)
	}
	for i, p := range paths[:min(len(paths), shownRows)] {
		fmt.Fprintf(out, "path %d: %s\n  %s\n", i+1, fatesText(p), p.text())
	}
	if n := len(paths) - shownRows; n > 0 {
		fmt.Fprintf(out, "and %d more\n", n)
	}
	return nil
}

// text returns the path with its certainty.
func (p *PathTotal) text() string { return pathWords(p.Path, p.Paths, p.P, p.Why) }

func pathWords(path, paths string, p float64, why string) string {
	switch paths {
	case "0":
		if path != "" {
			return "IMPOSSIBLE: " + why + "; closest: " + path
		}
		return "IMPOSSIBLE: " + why
	case "1":
		return path
	}
	return fmt.Sprintf("one of %s, with probability %.3g %s", paths, p, path)
}

func fatesText(p PathTotal) string {
	return countsText(p.Inputs, p.BeyondInputs) + " to " + countsText(p.Fates, p.BeyondFates)
}

// countsText lists the counts in m, the largest first, and then the number of packets beyond them.
func countsText(m map[string]int64, beyond int64) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return int(min(1, max(-1, m[b]-m[a])))
		}
		return strings.Compare(a, b)
	})
	if len(keys) == 1 && beyond == 0 {
		return keys[0]
	}
	var parts []string
	for _, k := range keys[:min(len(keys), 8)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", k, m[k]))
	}
	if n := len(keys) - 8; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	if beyond > 0 {
		parts = append(parts, fmt.Sprintf("%s not separated (--ports)", plural(beyond, "packet")))
	}
	return strings.Join(parts, ", ")
}

func (r *RecordPlanReport) writeDrops(out io.Writer) {
	if len(r.Drops) == 0 {
		return
	}
	fmt.Fprintln(out, "\ndropped:")
	for _, d := range r.Drops[:min(len(r.Drops), shownRows)] {
		flow, where := d.Flow, ""
		if flow == "" {
			flow = "not IP"
		}
		if d.OutPort != "" {
			where = " at " + d.OutPort
		}
		sure := ""
		if d.Paths != "1" {
			sure = " (" + pathWords(d.Path, d.Paths, d.P, "no path has this record") + ")"
		}
		by := ""
		if d.By != "" {
			by = "; by " + d.By
		}
		fmt.Fprintf(out, "  %s: %s, %s%s%s; last tables: %s%s\n",
			flow, plural(d.Packets, "packet"), d.Reason+inParentheses(d.Trap), where, by, d.Last, sure)
	}
	if n := len(r.Drops) - shownRows; n > 0 {
		fmt.Fprintf(out, "  and %d more\n", n)
	}
	if r.BeyondDrops > 0 {
		fmt.Fprintf(out, "  and %s of flows that found no room\n", plural(r.BeyondDrops, "packet"))
	}
}

// WriteText writes d as lists.
func (d *RecordDifference) WriteText(out io.Writer) error {
	if len(d.New)+len(d.Gone)+len(d.Changed)+len(d.Tables) == 0 {
		_, err := fmt.Fprintf(out, "\nno difference to %s\n", d.With)
		return err
	}
	fmt.Fprintf(out, "\ncompared with %s:\n", d.With)
	for _, list := range []struct {
		what  string
		paths []PathDifference
	}{{"new path", d.New}, {"gone", d.Gone}, {"changed", d.Changed}} {
		for _, p := range list.paths[:min(len(list.paths), shownRows)] {
			fmt.Fprintf(out, "  %s: %.2f %% of packets, was %.2f %%", list.what, 100*p.Share, 100*p.OtherShare)
			if p.MeanNs != nil && p.OtherMeanNs != nil {
				fmt.Fprintf(out, "; %d ns, was %d ns", *p.MeanNs, *p.OtherMeanNs)
			}
			words := pathWords(p.Path, p.Paths, 0, p.Why)
			if p.Paths != "0" && p.Paths != "1" {
				words = fmt.Sprintf("one of %s, most likely %s", p.Paths, p.Path)
			}
			fmt.Fprintf(out, "\n    %s\n", words)
		}
		if n := len(list.paths) - shownRows; n > 0 {
			fmt.Fprintf(out, "  and %d more\n", n)
		}
	}
	for _, t := range d.Tables {
		fmt.Fprintf(out, "  table %s: ran for %.2f %% of packets, was %.2f %%; hit %.2f %%, was %.2f %%\n",
			t.Table, 100*t.Ran, 100*t.OtherRan, 100*t.Hit, 100*t.OtherHit)
	}
	writeSuspicions(out, d.Suspicions)
	return nil
}
