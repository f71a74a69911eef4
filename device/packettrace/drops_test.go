package packettrace

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/profile"
)

// A filter that is not done within the time for an answer is ended with an error that reports this.
func TestSlowFilterIsEnded(t *testing.T) {
	chip, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := chip.Receive(chip.Ports()[0], chip.Now(), saisim.Frame{Data: make([]byte, 60)}); err != nil {
		t.Fatal(err)
	}
	chip.Advance(chip.Now() + 100_000)
	b := &book{names: map[config.ID]string{}}
	q := DropsRequest{Where: "bytes = 60"}
	if a, err := b.Drops(t.Context(), nil, chip, q); err != nil || a.Matched == nil || *a.Matched != 1 {
		t.Fatalf("%+v, %v; the test wants one drop", a, err)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	a, err := b.Drops(late, nil, chip, q)
	want := "where: the filter is too slow: 0 of 1 drops were compared within 5s"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%+v, %v, want %s", a, err, want)
	}
}
