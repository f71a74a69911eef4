package study

import "testing"

func TestQuartiles(t *testing.T) {
	tests := []struct {
		values []float64
		want   [5]float64 // least, quarter, half, three quarters, most
	}{
		{[]float64{3}, [5]float64{3, 3, 3, 3, 3}},
		{[]float64{2, 1}, [5]float64{1, 1.25, 1.5, 1.75, 2}},
		{[]float64{5, 1, 4, 2, 3}, [5]float64{1, 2, 3, 4, 5}},
	}
	for _, tt := range tests {
		m := Quartered(tt.values...)
		if got := [5]float64{m.Min, *m.Q1, m.Median, *m.Q3, m.Max}; got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
}
