package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// ARCHITECTURE.md says how many rooms and arrows there are.
func TestArchitectureCountsRoomsAndArrows(t *testing.T) {
	root := os.DirFS("../..")
	tree, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]string{}
	for _, f := range tree.ofRooms() {
		count[f.name] = f.text()
	}
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s rooms with %s arrows", count["rooms at the top"], count["arrows between rooms"])
	if !strings.Contains(string(page), want) {
		t.Errorf("ARCHITECTURE.md: want %q", want)
	}
}
