package alertmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tamtam/mgmt/outputs"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// judge checks the body of a request against the rules of Alertmanager's API, version 2: its schema postableAlerts, and
// the checks of an alert (github.com/prometheus/common/model). It returns the alerts by their labels.
func judge(body []byte) (map[string]entry, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	all := map[string]entry{}
	for _, object := range list {
		var e entry
		for name, to := range map[string]any{
			"labels": &e.Labels, "annotations": &e.Annotations, "startsAt": &e.StartsAt, "endsAt": &e.EndsAt,
		} {
			if object[name] == nil && name == "labels" {
				return nil, errors.New("an alert without labels")
			}
			if err := json.Unmarshal(object[name], to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			delete(object, name)
		}
		if len(object) > 0 {
			return nil, fmt.Errorf("the schema has no %v", object)
		}
		if e.StartsAt.IsZero() || e.EndsAt.Before(e.StartsAt) {
			return nil, fmt.Errorf("an alert from %v to %v", e.StartsAt, e.EndsAt)
		}
		if e.Labels["alertname"] == "" {
			return nil, errors.New("an alert without alertname")
		}
		for _, set := range []map[string]string{e.Labels, e.Annotations} {
			for name, value := range set {
				if !labelName.MatchString(name) || !utf8.ValidString(value) || value == "" {
					return nil, fmt.Errorf("label %q=%q", name, value)
				}
			}
		}
		key := fmt.Sprint(e.Labels)
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("two alerts have the labels %s", key)
		}
		all[key] = e
	}
	return all, nil
}

// message returns the alerts of a book by the label alarm.
func message(t *testing.T, b *AlarmStore, now time.Time) map[string]entry {
	t.Helper()
	body := b.Message(now)
	if body == nil {
		return nil
	}
	all, err := judge(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out := map[string]entry{}
	for _, e := range all {
		out[e.Labels["alarm"]+" "+e.Labels["severity"]] = e
	}
	return out
}

// An alarm is sent with the end that it has if it is not sent again. A cleared one is sent for a while with its end.
// The text and the count may change, and the alarm stays the same. Another severity is another alarm.
func TestAlarmStore(t *testing.T) {
	b := NewAlarmStore("leaf1")
	if b.Message(noon) != nil {
		t.Error("there is a message without alarms")
	}
	alarm := Alarm{ID: "PORT-objects-failed-1", Type: "OBJECTS_FAILED", Resource: "PORT", Severity: "MAJOR",
		Text: "3 failed: Ethernet0", Count: 3, Raised: noon.Add(-time.Minute)}
	b.Raise(noon, alarm)
	got := message(t, b, noon)["PORT-objects-failed-1 major"]
	want := "map[alarm:PORT-objects-failed-1 alertname:OBJECTS_FAILED instance:leaf1 job:tamtam resource:PORT " +
		"severity:major]"
	if fmt.Sprint(got.Labels) != want || got.Annotations["count"] != "3" ||
		got.Annotations["summary"] != "3 failed: Ethernet0" || !got.StartsAt.Equal(alarm.Raised) ||
		!got.EndsAt.Equal(noon.Add(expiry)) {
		t.Errorf("%+v", got)
	}

	alarm.Text, alarm.Count, alarm.Raised = "2 failed: Ethernet0", 2, noon.Add(time.Second)
	b.Raise(noon.Add(2*time.Second), alarm)
	got = message(t, b, noon.Add(2*time.Second))["PORT-objects-failed-1 major"]
	if fmt.Sprint(got.Labels) != want || got.Annotations["count"] != "2" || !got.StartsAt.Equal(noon.Add(-time.Minute)) {
		t.Errorf("with another count: %+v", got)
	}

	alarm.Severity, alarm.Raised = "CRITICAL", noon.Add(time.Hour)
	b.Raise(noon.Add(3*time.Second), alarm)
	all := message(t, b, noon.Add(3*time.Second))
	if len(all) != 2 || !all["PORT-objects-failed-1 major"].EndsAt.Equal(noon.Add(3*time.Second)) ||
		!all["PORT-objects-failed-1 critical"].StartsAt.Equal(noon.Add(3*time.Second)) {
		t.Errorf("with another severity: %+v", all)
	}

	b.Clear(noon.Add(time.Minute), alarm.ID)
	b.Clear(noon.Add(time.Minute), "unknown")
	all = message(t, b, noon.Add(keep))
	if len(all) != 2 || !all["PORT-objects-failed-1 critical"].EndsAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("cleared: %+v", all)
	}
	b.Raise(noon.Add(keep), alarm)
	if all = message(t, b, noon.Add(keep)); !all["PORT-objects-failed-1 critical"].EndsAt.Equal(noon.Add(keep + expiry)) {
		t.Errorf("raised again: %+v", all)
	}
	b.Clear(noon.Add(keep), alarm.ID)
	if b.Message(noon.Add(2*keep+time.Second)) != nil {
		t.Error("a cleared alarm is sent for too long")
	}
}

// A message is bounded. The gravest alarms are in it, and one alarm counts the others.
func TestManyAlarms(t *testing.T) {
	b := NewAlarmStore("")
	for i := range mostAlerts + 5 {
		b.Raise(noon, Alarm{ID: fmt.Sprint(i), Type: "MTU_ABOVE_WIRE", Severity: "WARNING",
			Text: strings.Repeat("\u00fc", 9999)})
	}
	b.Raise(noon, Alarm{ID: "z", Type: "SILENT", Severity: "CRITICAL", Text: "a\xffb"})
	all := message(t, b, noon)
	if len(all) != mostAlerts || all["z critical"].Annotations["summary"] != "a?b" ||
		all["alarms-left-out warning"].Annotations["count"] != "7" {
		t.Errorf("%d alarms: %v, %v", len(all), all["z critical"], all["alarms-left-out warning"])
	}
}

// An Alertmanager that refuses a message does not get it again; one that fails does.
func TestLink(t *testing.T) {
	code, got := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(text)
		w.WriteHeader(code)
	}))
	defer s.Close()
	for prefix, path := range map[string]string{"": "", "/am/": "/am"} {
		to, err := outputs.ParseTarget(s.URL+prefix, Schemes())
		if err != nil {
			t.Fatal(err)
		}
		link := NewLink(to, nil)
		defer link.Close()
		for status, want := range map[int]string{
			200: "sent", 400: "refused", 404: "refused", 302: "refused", 500: "again", 503: "busy", 429: "busy",
		} {
			code = status
			var refused *outputs.RefusedError
			var busy *outputs.BusyError
			word := "again"
			switch err := link.Send(t.Context(), []byte("[]")); {
			case err == nil:
				word = "sent"
			case errors.As(err, &refused):
				word = "refused"
			case errors.As(err, &busy):
				word = "busy"
			}
			if word != want || got != "POST "+path+"/api/v2/alerts application/json []" {
				t.Errorf("%d: %s, want %s; %q came", status, word, want, got)
			}
		}
	}
}

// Alertmanager itself has the alarms that were sent, with their labels and times, and no longer one that was cleared.
func TestAlertmanagerAgrees(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("prometheus-alertmanager is not installed (Debian: prometheus-alertmanager)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "--config.file=../../../docker/observability/alertmanager.yaml",
		"--storage.path="+t.TempDir(), "--cluster.listen-address=", "--web.listen-address="+addr)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	to, err := outputs.ParseTarget("http://"+addr, Schemes())
	if err != nil {
		t.Fatal(err)
	}
	out := outputs.New(NewLink(to, nil), outputs.Bounds{Bytes: 4 << 20, Age: time.Hour, Latest: true})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- out.Run(ctx) }()
	defer func() { cancel(); <-done }()
	b, began := NewAlarmStore("leaf1"), time.Now()
	b.Raise(began, Alarm{ID: "PORT-objects-failed-1", Type: "OBJECTS_FAILED", Resource: "PORT", Severity: "MAJOR",
		Text: "3 failed: Ethernet0, Ethernet4, \u00fc", Count: 3, Raised: began.Add(-time.Hour)})
	b.Raise(began, Alarm{ID: "syncd-silent", Type: "SILENT", Resource: "syncd", Severity: "CRITICAL"})
	out.Put(began, b.Message(began))
	have := func(want string) {
		t.Helper()
		last := ""
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range 300 {
			resp, err := http.Get("http://" + addr + "/api/v2/alerts")
			if err == nil {
				var list []struct {
					Labels, Annotations map[string]string
					StartsAt            time.Time
				}
				err = json.NewDecoder(resp.Body).Decode(&list)
				resp.Body.Close()
				var texts []string
				for _, a := range list {
					texts = append(texts, fmt.Sprint(a.Labels["alertname"], " ", a.Labels["instance"], " ", a.Labels["severity"],
						" ", a.Annotations["count"], " ", began.Sub(a.StartsAt).Round(time.Minute)))
				}
				slices.Sort(texts)
				last = strings.Join(texts, "; ")
			}
			if err == nil && last == want {
				return
			}
			<-tick.C
		}
		t.Fatalf("Alertmanager has %q, want %q; the output is %+v", last, want, out.Status(time.Now()))
	}
	have("OBJECTS_FAILED leaf1 major 3 1h0m0s; SILENT leaf1 critical 1 0s")
	now := time.Now()
	b.Clear(now, "syncd-silent")
	out.Put(now, b.Message(now))
	have("OBJECTS_FAILED leaf1 major 3 1h0m0s")
}
