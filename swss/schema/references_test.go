package schema

import (
	"slices"
	"testing"
)

// A queue names its WRED profile, in either of SONiC's forms.
func TestReferencesTo(t *testing.T) {
	want := []Reference{{CfgQueue, "wred_profile", CfgWRED}}
	if got := ReferencesTo(CfgWRED); !slices.Equal(got, want) {
		t.Errorf("%v name a WRED profile, want %v", got, want)
	}
	if got := ReferencesTo(CfgPort); got != nil {
		t.Errorf("%v name a port by a reference", got)
	}
	for _, value := range []string{"w", "[WRED_PROFILE|w]"} {
		if got := Referred(CfgWRED, value); got != "w" {
			t.Errorf("%s names %s, want w", value, got)
		}
	}
}
