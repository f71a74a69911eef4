package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/parquet"
	"tamtam/internal/command"
)

const alarmPaths = `
graphs:
- name: web
  points: [{switch: l1, target: "l1:1", session: w}, {switch: s1, target: "s1:1", session: w},
    {switch: l2, target: "l2:1", session: w}]
  links: [[l1, s1], [s1, l2]]
- name: voice
  points: [{switch: s1, target: "s1:1", session: v}, {switch: l2, target: "l2:1", session: v}]
  links: [[s1, l2]]
`

// lostBefore returns the rows of the period of graph web that began the given number of seconds before a time.
func lostBefore(at time.Time, seconds int, flags result.Flags, first, second int64) (rows []result.Loss) {
	w := result.Window{Start: at.Add(-time.Duration(seconds) * time.Second).UnixNano(), Length: int64(time.Second)}
	for i, of := range [][3]string{{"1", "l1", "s1"}, {"2", "s1", "l2"}, {"", "l1", "l2"}} {
		lost := []int64{first, second, first + second}[i]
		rows = append(rows, result.Loss{Flow: "web", Cluster: of[0], From: of[1], To: of[2], Window: w,
			Period: uint64(1000 - seconds), Status: "ok", Known: true, Flags: flags, Sent: 100,
			Received: 100 - lost, Lost: lost})
	}
	return rows
}

// alarmLines returns the metrics of alarms, without those that contain a time.
func alarmLines(metrics string) string {
	lines := slices.DeleteFunc(strings.Split(metrics, "\n"), func(l string) bool {
		return !strings.HasPrefix(l, "tamtam_collectd_altmark_alarm") || strings.Contains(l, "timestamp")
	})
	return strings.Join(lines, "\n")
}

// Alarms are derived from the rows in the store, whichever process joined them. Processes that serve the same store
// report the same alarms, in parallel and after a restart.
func TestServeAlarms(t *testing.T) {
	dir := t.TempDir()
	store, err := parquet.Open(parquet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	put := func(n uint64, rows ...[]result.Loss) {
		if _, err := store.Put(t.Context(), &result.Batch{Partition: "altmark-0", First: n,
			Position: result.Position{Last: n, Closed: now.UnixNano()}, Losses: slices.Concat(rows...)}); err != nil {
			t.Fatal(err)
		}
	}
	put(1, lostBefore(now, 20, 0, 0, 0), lostBefore(now, 19, result.Gap, 0, 7), lostBefore(now, 18, 0, 1, 5))
	const raised = `tamtam_collectd_altmark_alarm{graph="voice",state="accepted"} 0
tamtam_collectd_altmark_alarm{graph="voice",state="raised"} 0
tamtam_collectd_altmark_alarm{graph="voice",state="unknown"} 1
tamtam_collectd_altmark_alarm{graph="web",state="accepted"} 0
tamtam_collectd_altmark_alarm{graph="web",state="raised"} 1
tamtam_collectd_altmark_alarm{graph="web",state="unknown"} 0
tamtam_collectd_altmark_alarm_graphs_left_out 0
tamtam_collectd_altmark_alarm_inexact_periods{graph="web"} 1
tamtam_collectd_altmark_alarm_lost_packets{from="l1",graph="web",to="s1"} 1
tamtam_collectd_altmark_alarm_lost_packets{from="s1",graph="web",to="l2"} 5
tamtam_collectd_altmark_alarm_undecided_periods{graph="voice"} 0
tamtam_collectd_altmark_alarm_undecided_periods{graph="web"} 0
tamtam_collectd_altmark_alarm_unread 0`
	args := []string{"--role=serve", "--store=" + dir, "--http=127.0.0.1:0", "--alarm=0.01",
		"--paths=" + write(t, "paths.yaml", alarmPaths)}
	one, other := startDaemon(t, args...), startDaemon(t, args...)
	for _, d := range []*collecting{one, other} {
		if got := alarmLines(get(t, d.url+"/metrics")); got != raised {
			t.Errorf("%s\nwant\n%s", got, raised)
		}
		text := get(t, d.url+"/alarms")
		for _, want := range []string{"Graphs with an alarm: 1", "s1&gt;l2: 5", "l1&gt;s1: 1",
			"1 of 2 periods above by rows that may not be"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not say %q:\n%s", want, text)
			}
		}
		d.stop()
		if all := <-d.ended; !strings.Contains(all, "exit 0") {
			t.Error(all)
		}
	}
	put(2, lostBefore(now, 17, 0, 0, 1))
	again := startDaemon(t, args...)
	got := alarmLines(get(t, again.url+"/metrics"))
	if !strings.Contains(got, `alarm{graph="web",state="accepted"} 1`) || strings.Contains(got, "lost_packets") {
		t.Error(got)
	}
	again.stop()
	<-again.ended
}

// An alarm without a graph is refused.
func TestAlarmWithoutGraphs(t *testing.T) {
	paths := write(t, "paths.yaml", `paths: [{name: web, points: [
  {switch: l1, target: "l1:1", session: w}, {switch: l2, target: "l2:1", session: w}]}]`)
	code, _, errOut := tryRun(t, "run", "--role=serve", "--store=d", "--alarm=0", "--paths="+paths)
	if code != command.ExitUsage || !strings.Contains(errOut, "has no graphs: want one or more") {
		t.Error(code, errOut)
	}
}
