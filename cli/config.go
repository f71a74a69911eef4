package cli

import "tamtam/cli/kit"

// Config says which switch a Shell talks to and how.
type Config = kit.Config

// SyntaxError says what is wrong with a line and where.
type SyntaxError = kit.SyntaxError
