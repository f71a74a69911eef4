package main

import (
	"testing"

	"tamtam/internal/command/commandtest"
)

// Each command has examples. The command lines in them have existing flags and as many arguments as the command wants.
func TestExamples(t *testing.T) { commandtest.Examples(t, newRoot, examples()) }
