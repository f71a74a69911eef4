package main

import (
	"bytes"
	"os"
	"testing"
)

// Package schema has the functions that read and write the rows of each layout.
func TestRowsAreGenerated(t *testing.T) {
	made, err := generate("../../swss/schema")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../swss/schema/zz_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, made) {
		t.Error("zz_generated.go is not what the layouts ask for: run go generate ./swss/schema")
	}
}
