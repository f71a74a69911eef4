package flymon_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"tamtam/tam/flymon"
)

// The JSON of an estimate has only meaningful bounds, and decodes to the encoded value.
func TestEstimateJSON(t *testing.T) {
	exact := 7.0
	for _, tt := range []struct {
		name string
		e    flymon.Estimate
		want string
	}{
		{"both", flymon.Estimate{Value: 8, Lower: 0, Upper: 9, Confidence: 0.95, Bound: "b"},
			`{"estimate":8,"lower":0,"upper":9,"confidence":0.95,"bound":"b"}`},
		{"no upper one", flymon.Estimate{Value: 8, Lower: 5, Upper: math.Inf(1), Confidence: 0.5, Saturated: true},
			`{"estimate":8,"lower":5,"confidence":0.5,"saturated":true}`},
		{"0 or more is no bound", flymon.Estimate{Value: 8, Upper: math.Inf(1), Confidence: 0.5}, `{"estimate":8}`},
		{"none", flymon.Estimate{Value: 8, Lower: 3, Upper: 4, Exact: &exact}, `{"estimate":8,"exact":7}`},
		{"not even a value", flymon.Estimate{Value: math.Inf(1), Saturated: true}, `{"saturated":true}`},
	} {
		got, err := json.Marshal(tt.e)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
		var back flymon.Estimate
		if err := json.Unmarshal(got, &back); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again, _ := json.Marshal(back); string(again) != tt.want || tt.name == "both" && !reflect.DeepEqual(back, tt.e) {
			t.Errorf("%s: read as %+v, written again as %s", tt.name, back, again)
		}
	}
}
