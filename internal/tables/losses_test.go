package main

import (
	"os"
	"strings"
	"testing"
)

// The YANG module of losses matches the existing reasons.
func TestModule(t *testing.T) {
	var made strings.Builder
	module(&made)
	got, err := os.ReadFile("../../yang/tamtam-losses.yang")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != made.String() {
		t.Error("yang/tamtam-losses.yang is not what the reasons say: run go generate ./yang")
	}
}
