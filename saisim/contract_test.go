package saisim_test

import (
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// The chip behaves as every SAI backend must.
func TestContract(t *testing.T) {
	for _, p := range []profile.Profile{profile.Default(), profile.Small()} {
		t.Run(p.Name, func(t *testing.T) {
			saitest.Contract(t, func() sai.API {
				c := need(saisim.New(saisim.Config{Profile: p, Start: time.Unix(1_700_000_000, 0)}))(t)
				return c
			})
		})
	}
}
