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
)

// Steps are undone in reverse order. If one fails, the next attempt continues there.
func TestSteps(t *testing.T) {
	b := orchtest.Started(t, saitest.Options{})
	b.CreateSwitch()
	var steps feature.Steps
	rate := sai.Attr{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(8)}
	if _, err := steps.Create(b.Ctx, b.Rec, "sampler", sai.ObjectTypeSamplepacket, rate); err != nil {
		t.Fatal(err)
	}
	fails, undone := true, 0
	steps.Add("let go", func(context.Context) error {
		if fails {
			return errors.New("not now")
		}
		undone++
		return nil
	})
	if err := steps.Undo(b.Ctx); err == nil || err.Error() != "let go: not now" {
		t.Error(err)
	}
	if n := len(b.Rec.LiveOf(sai.ObjectTypeSamplepacket)); n != 1 {
		t.Errorf("%d samplers behind a step that stays", n)
	}
	fails = false
	for range 2 { // the second has nothing to undo
		if err := steps.Undo(b.Ctx); err != nil || undone != 1 || len(b.Rec.LiveOf(sai.ObjectTypeSamplepacket)) > 0 {
			t.Errorf("undone %d times: %v", undone, err)
		}
	}
	b.Rec.FailAt(1, sai.StatusFailure)
	_, err := steps.Create(b.Ctx, b.Rec, "sampler", sai.ObjectTypeSamplepacket, rate)
	if err == nil || !strings.HasPrefix(err.Error(), "create the sampler: ") {
		t.Error(err)
	}
}

// A window must return the expected number of words for each label, or an error results.
func TestCountedWords(t *testing.T) {
	of := feature.Counted{Counters: "counters", Words: 2}
	for text, good := range map[string]bool{
		`{"attributes":[{"counters":{"value":[1,2,3,4]}}]}`: true,
		`{"attributes":[{"counters":{"value":[1,2,3]}}]}`:   false,
		`{"attributes":[]}`: false,
	} {
		values, err := feature.ParseEntry([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		words, err := of.Parse(values, 2)
		if (err == nil) != good || good && (len(words) != 2 || words[1][0] != 3) {
			t.Errorf("%s: %v, %v", text, words, err)
		}
	}
}
