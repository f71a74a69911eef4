package feature_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
)

// An extension object is created by its first value, set when the value differs, and removed once. A call that fails
// changes nothing, and the error names the object.
func TestObject(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{Extensions: []string{"left"}})
	b.CreateSwitch()
	x := feature.Object{Name: "left", Attr: "label", What: "label of s1"}
	put := func(value string) func() error { return func() error { return x.Put(b.Ctx, b.Rec, value) } }
	remove := func() error { return x.Remove(b.Ctx, b.Rec) }
	var before feature.Object
	for i, step := range []struct {
		do    func() error
		fails bool
		err   string
		calls int // lines of the recorder, two for a call that fails
		there bool
	}{
		{put("a"), true, "create the label of s1: SAI_STATUS_FAILURE", 2, false},
		{put("a"), false, "", 1, true},
		{put("a"), false, "", 0, true},
		{put("b"), true, "change the label of s1: SAI_STATUS_FAILURE", 2, true},
		{func() error { before = x; return nil }, false, "", 0, true},
		{put("b"), false, "", 1, true},
		{func() error { return x.Restore(b.Ctx, b.Rec, before) }, false, "", 1, true},
		{put("a"), false, "", 0, true},
		{remove, true, "remove the label of s1: SAI_STATUS_FAILURE", 2, true},
		{remove, false, "", 1, false},
		{remove, false, "", 0, false},
	} {
		b.Rec.FailAt(0, 0)
		if b.Rec.Reset(); step.fails {
			b.Rec.FailAt(1, sai.StatusFailure)
		}
		err := step.do()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if n := len(b.Calls()); n != step.calls || x.There() != step.there || text != step.err {
			t.Errorf("step %d: %q, %d lines of calls, there: %v, want %+v", i, text, n, x.There(), step)
		}
	}
}

// failing returns a [sai.Gate]'s answer that refuses every call.
func failing(err error) func(context.Context, sai.Op, sai.ObjectType) error {
	return func(context.Context, sai.Op, sai.ObjectType) error { return err }
}

// A chip has room for the objects of its extensions, and none for others.
func TestRoomOfExtensions(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{Extensions: []string{"left"}})
	b.CreateSwitch()
	for name, has := range map[string]bool{"left": true, "right": false} {
		if n, err := feature.Room(b.Ctx, b.Rec, name); err != nil || (n > 0) != has {
			t.Errorf("%s: room for %d, %v", name, n, err)
		}
	}
	away := &sai.Gate{API: b.Rec, Refuse: failing(swss.ErrUnavailable)}
	if _, err := feature.Room(b.Ctx, away, "left"); !errors.Is(err, swss.ErrUnavailable) {
		t.Errorf("Redis was away: %v", err)
	}
}

// The actions of ingress ACLs are read, whatever their number. A status about missing support is no answer.
func TestIngressActions(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	sw, _ := b.CreateSwitch()
	if actions, err := feature.IngressActions(b.Ctx, b.Rec, sw); err != nil || len(actions) == 0 {
		t.Errorf("%v, %v", actions, err)
	}
	for status, unanswered := range map[sai.Status]bool{
		sai.StatusNotSupported: true, sai.StatusNotImplemented: true, sai.StatusAttrNotSupported0: true,
		sai.StatusFailure: false,
	} {
		_, err := feature.IngressActions(b.Ctx, &sai.Gate{API: b.Rec, Refuse: failing(status)}, sw)
		if err == nil || feature.Unanswered(err) != unanswered {
			t.Errorf("%s: %v, is no answer: %v", status, err, feature.Unanswered(err))
		}
	}
}

// An entry that is no JSON, or lacks a value, or has one of another type, is refused with the name of the value.
func TestValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"attributes":[{"a":{"value":1}}]}`:   "",
		`{"attributes":[{"b":{"value":1}}]}`:   "the window has no a",
		`{"attributes":[{"a":{"value":"x"}}]}`: "a of the window: ",
		`[`:                                    "no entry: ",
		strings.Repeat(" ", 8<<20+1):           "8388609 bytes, want at most 8388608",
	} {
		values, err := feature.ParseEntry([]byte(text))
		if err == nil {
			_, err = feature.Value[int](values, "a")
		}
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}
