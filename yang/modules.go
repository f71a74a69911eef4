package yang

import "embed"

// Modules are the modules' texts, NAME.yang.
//
//go:embed *.yang
var Modules embed.FS
