package orch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// TestOwnership: while a manager is the author of a row's status, orchagent's reports are ignored. A handover makes
// orchagent the author.
func TestOwnership(t *testing.T) {
	ctx := t.Context()
	mgr := newBench(t, orch.Manager)
	agent := newBenchOn(t, mgr.r, orch.Orchagent)
	// "does" makes a daemon call a function and write its reports.
	does := func(x *bench, f func()) {
		t.Helper()
		if err := x.d.Do(ctx, f); err != nil {
			t.Fatal(err)
		}
		x.step()
	}
	want := func(when, want string) {
		t.Helper()
		if got := mgr.state("STATE_A", "k"); got != want {
			t.Errorf("%s: state %q, want %q", when, got, want)
		}
	}
	const at = "2025-01-02T03:04:05Z"
	does(agent, func() { agent.d.Report(ctx, "STATE_A", "k", "active", "") })
	want("orchagent writes a new row", "active||"+at+"|orchagent")
	does(mgr, func() { mgr.d.Report(ctx, "STATE_A", "k", "pending", "no flow group") })
	want("the manager takes it back", "pending|no flow group|"+at+"|tammgrd")
	does(agent, func() { agent.d.Report(ctx, "STATE_A", "k", "active", "") })
	want("orchagent's late report", "pending|no flow group|"+at+"|tammgrd")
	does(agent, func() { agent.d.Unreport(ctx, "STATE_A", "k") })
	want("orchagent's late delete", "pending|no flow group|"+at+"|tammgrd")
	does(mgr, func() {
		if err := mgr.d.Handover(ctx, "STATE_A", "k"); err != nil {
			t.Fatal(err)
		}
		want("handed over, at once", "pending|waiting for orchagent|"+at+"|orchagent")
	})
	does(agent, func() { agent.d.Report(ctx, "STATE_A", "k", "active", "") })
	want("orchagent's report", "active||"+at+"|orchagent")
	does(mgr, func() { mgr.d.Unreport(ctx, "STATE_A", "k") })
	want("the manager deletes it", "")
}

// TestSince: the time stays the same while the status does, whatever its reasons.
func TestSince(t *testing.T) {
	x := newBench(t, "orchagent")
	for _, tt := range []struct{ status, reason, since string }{
		{"pending", "a", "2025-01-02T03:04:06Z"},
		{"pending", "a", "2025-01-02T03:04:06Z"},
		{"pending", "b", "2025-01-02T03:04:06Z"},
		{"active", "", "2025-01-02T03:04:09Z"},
		{"active", "", "2025-01-02T03:04:09Z"},
	} {
		x.now = x.now.Add(time.Second)
		if err := x.d.Do(t.Context(), func() { x.d.Report(t.Context(), "STATE_A", "k", tt.status, tt.reason) }); err != nil {
			t.Fatal(err)
		}
		x.step()
		want := fmt.Sprintf("%s|%s|%s|orchagent", tt.status, tt.reason, tt.since)
		if got := x.state("STATE_A", "k"); got != want {
			t.Errorf("state %q, want %q", got, want)
		}
	}
}

// TestReporting: words, keys and authors are those of the table.
func TestReporting(t *testing.T) {
	acl := orch.Words{Active: "Active", Pending: "Pending creation", Removing: "Pending removal", Failed: "Inactive"}
	wait, bad := orch.Wait("x", "y", ""), &orch.InvalidError{Field: "f", Value: "v"}
	for _, tt := range []struct {
		name string
		rep  orch.Reporting
		err  error
		del  bool // true if the row is deleted after it was set
		want map[string]swss.FieldValues
	}{
		{"ACL rule", orch.Reporting{StateTable: "S", Words: acl}, nil, false, row("T|R", "status", "Active", "")},
		{"ACL rule waits", orch.Reporting{StateTable: "S", Words: acl}, wait, false,
			row("T|R", "status", "Pending creation", "waiting for x y")},
		{"ACL rule's removal waits", orch.Reporting{StateTable: "S", Words: acl}, wait, true,
			row("T|R", "status", "Pending removal", "waiting for x y")},
		{"ACL rule is invalid", orch.Reporting{StateTable: "S", Words: acl}, bad, false,
			row("T|R", "status", "Inactive", `f "v"`)},
		{"feature", orch.Reporting{StateTable: "S", Words: orch.Words{Field: "op-status", Active: "ACTIVE"}}, nil, false,
			row("T|R", "op-status", "ACTIVE", "")},
		{"own key", orch.Reporting{StateTable: "S", Key: func(k string) string { return "<" + k + ">" }}, nil, false,
			row("<T:R>", "status", "active", "")},
		{"forwarded", orch.Reporting{StateTable: "S", Forwards: true}, nil, false, map[string]swss.FieldValues{}},
		{"not forwarded after all", orch.Reporting{StateTable: "S", Forwards: true}, wait, false,
			row("T|R", "status", "pending", "waiting for x y")},
		{"deleted", orch.Reporting{StateTable: "S", Forwards: true}, nil, true, map[string]swss.FieldValues{}},
		{"nothing told", orch.Reporting{StateTable: "S", None: true}, wait, false, map[string]swss.FieldValues{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			r := swsstest.Start(t)
			d := orch.NewDaemon("d", r, orch.Options{})
			defer d.Close()
			d.Consume(func(l *swss.Listener) swss.Source {
				return swss.NewConsumerState(l, r.DB(swss.ApplDB), "ACL_RULE_TABLE")
			},
				"ACL_RULE_TABLE", orch.Each(func(context.Context, orch.Task) error { return tt.err }), tt.rep)
			p := swss.NewProducerState(r.DB(swss.ApplDB), "ACL_RULE_TABLE")
			steps := []func() error{func() error { return p.Set(ctx, "T:R", nil) }}
			if tt.del {
				steps = append(steps, func() error { return p.Del(ctx, "T:R") })
			}
			for _, f := range steps {
				if err := f(); err != nil {
					t.Fatal(err)
				}
				if _, err := d.Step(ctx, start); err != nil {
					t.Fatal(err)
				}
			}
			got, err := swss.NewTable(r.DB(swss.StateDB), "S").Dump(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("STATE_DB (-want +got):\n%s", diff)
			}
		})
	}
}

func row(key, field, status, reason string) map[string]swss.FieldValues {
	return map[string]swss.FieldValues{key: {field: status, "reason": reason, "since": start.Format(time.RFC3339Nano),
		"by": "d"}}
}
