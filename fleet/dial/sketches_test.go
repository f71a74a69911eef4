package dial

import (
	"context"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// sketchNote returns a notification of a task's leaves, or of an answer, as a switch sends it; at is the time of the
// read.
func sketchNote(at int64, elems []*gpb.PathElem, json string) *gpb.Notification {
	return &gpb.Notification{Timestamp: at, Update: []*gpb.Update{{Path: &gpb.Path{Elem: elems},
		Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(json)}}}}}
}

func elems(names ...string) (all []*gpb.PathElem) {
	for i, name := range names {
		e := &gpb.PathElem{Name: name}
		if i == 2 {
			e.Key = map[string]string{"name": "t"}
		}
		all = append(all, e)
	}
	return all
}

func epochNote(at int64, n int, more string) *gpb.Notification {
	return sketchNote(at, elems("tam", "flymon-tasks", "flymon-task", "state", "last-epoch"),
		fmt.Sprintf(`{"epoch":"%d","start":"%d","end":"%d"%s}`, n, n*100, n*100+100, more))
}

func metricNote(at int64, json string) *gpb.Notification {
	e := elems("tam", "flymon-tasks", "flymon-task", "metrics", "metric")
	e[4].Key = map[string]string{"quantity": "packets"}
	return sketchNote(at, append(e, &gpb.PathElem{Name: "state"}), json)
}

func queryNote(at int64, json string) *gpb.Notification {
	return sketchNote(at, elems("tam", "flymon-queries", "flymon-query", "state", "answer"), json)
}

// Quantities are reported when their epoch is over, with its leaves in any order; those of the last epoch before the
// subscription are not. Answers to queries are reported at once. A value that did not change is not sent.
func TestSketchWatch(t *testing.T) {
	var news []string
	w := &sketchWatch{tasks: map[string]*sketchTask{}, queries: map[string]leafValues{}, report: func(e SketchEvent) {
		if e.Kind == Bad {
			news = append(news, e.Err.Error())
			return
		}
		bound := func(v *float64) string {
			if v == nil {
				return "?"
			}
			return fmt.Sprint(*v)
		}
		a := e.Answer
		news = append(news, fmt.Sprintf("%s %s of %d: %v in %s to %s %q", a.Task, a.Key, a.Epoch, a.Estimate, bound(a.Lower),
			bound(a.Upper), a.Flags))
	}}
	metric := metricNote(1, `{"estimate":"7.0","lower":"7.0","upper":"7.5","saturated":false}`)
	query := queryNote(1,
		`{"task":"t","flow":"10.0.0.1","epoch":"1","start":"100","end":"200","estimate":"3.0","lower":"0.5",`+
			`"saturated":true}`)
	for _, n := range []*gpb.Notification{epochNote(1, 1, ""), metric, query} {
		w.add(n)
	}
	w.apply()
	w.synced = true
	w.add(metricNote(2, `{"estimate":"9.0"}`)) // a value of the next epoch
	w.add(epochNote(2, 2, `,"flags":["first"]`))
	w.add(epochNote(3, 3, `,"flags":[]`)) // the number of packets has not changed
	gone := metricNote(4, `{}`)
	gone.Update, gone.Delete = nil, []*gpb.Path{gone.Update[0].Path}
	gone.Delete[0].Elem = append(gone.Delete[0].Elem, &gpb.PathElem{Name: "upper"})
	w.add(gone)
	late := epochNote(5, 4, "")
	late.Update[0].Duplicates = 1 // the server coalesced this update with an earlier one
	w.add(late)
	w.add(queryNote(5, `{"epoch":"4","start":"400","end":"500","estimate":"4.0"}`))
	w.add(epochNote(6, 5, ""))
	w.add(queryNote(6, `{"end":"many"}`))
	w.apply()
	want := []string{
		`t 10.0.0.1 of 1: 3 in 0.5 to ? ["saturated"]`,
		`t packets of 2: 9 in 7 to 7.5 ["first"]`,
		`t packets of 3: 9 in 7 to ? []`,
		`t 10.0.0.1 of 4: 4 in 0.5 to ? ["saturated"]`,
		`t packets of 4: 9 in 7 to ? ["epoch not certain"]`,
		`task t, 10.0.0.1: end is "many", want a number of nanoseconds from 0 to 4611686018427387903`,
	}
	if strings.Join(news, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(news, "\n"), strings.Join(want, "\n"))
	}
}

// A switch gets one subscription to the results of its tasks.
func TestSketchSubscribe(t *testing.T) {
	s := startSwitch(t, "127.0.0.1:0")
	s.say(queryNote(1, `{"task":"t","flow":"f","epoch":"1","start":"100","end":"200","estimate":"3.0"}`))
	ctx, stop := context.WithCancel(t.Context())
	var kinds []EventKind
	err := WatchSketches(ctx, s.addr, Options{Insecure: true}, func(e SketchEvent) {
		if kinds = append(kinds, e.Kind); e.Kind == Synced {
			stop()
		}
	})
	want := "/tam/flymon-tasks/flymon-task[name=*]/state/last-epoch ON_CHANGE, " +
		"/tam/flymon-tasks/flymon-task[name=*]/metrics ON_CHANGE, " +
		"/tam/flymon-queries/flymon-query[name=*]/state/answer ON_CHANGE"
	if err != nil || fmt.Sprint(kinds) != fmt.Sprint([]EventKind{Answered, Synced}) ||
		strings.Join(s.asked[0], ", ") != want {
		t.Errorf("%v, %v, asked for %q", err, kinds, s.asked)
	}
}

// Whatever a server sends leads to an error or an answer.
func FuzzSketchLeaves(f *testing.F) {
	f.Add(`{"tt:metric":[{"quantity":"packets","state":{"estimate":"1"}}],"state":{"last-epoch":{"epoch":"1","end":2}}}`)
	f.Fuzz(func(t *testing.T, json string) {
		w := &sketchWatch{tasks: map[string]*sketchTask{}, queries: map[string]leafValues{}, synced: true,
			report: func(SketchEvent) {}}
		for at := range int64(3) {
			w.add(sketchNote(at, elems("tam", "flymon-tasks", "flymon-task"), json))
			w.add(epochNote(at, int(at), ""))
			w.add(queryNote(at, json))
		}
		w.apply()
	})
}
