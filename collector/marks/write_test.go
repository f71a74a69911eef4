package marks

import (
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// The text of a result is one line that contains its known values.
func TestText(t *testing.T) {
	result := Result{
		Path: "p", From: "a", To: "b", Period: 10, Start: altmark.Time{Seconds: 10}, Status: OK,
		Counted: true, Counts: Counts{Sent: 5, Received: 6},
		Lost: -1, LossValid: true, Delay: time.Millisecond, DelayValid: true,
	}
	if got, want := result.Text(),
		"00:00:10.000 p a>b period 10 ok sent 5 received 6 lost -1 delay 1ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
