package saitest

import (
	"testing"

	"tamtam/sai"
)

func TestFakeKeepsTheContract(t *testing.T) {
	Contract(t, func() sai.API { return NewFake() })
}
