package cli

import "tamtam/cli/kit"

// Config contains the switch that a Shell connects to, and the options of the connection.
type Config = kit.Config

// SyntaxError describes an error in a line and its position.
type SyntaxError = kit.SyntaxError
