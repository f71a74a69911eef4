// Command metrics measures the source tree: its size, its rooms and the arrows between them, how long and tangled
// functions are, what has no comment.
//
//	make metrics                    the figures, as Markdown
//	go run ./internal/metrics -list     what stands behind each: the worst first
//	go run ./internal/metrics -limits   only what breaks a limit; the gate runs this
//
// Goals stand beside the figures in figures.go. Those with a reason are limits of the gate.
//
// # What is counted, and how
//
// Files are all .go files of the module, whatever system they are for, but not those that Go passes
// over: folders named testdata or with "." or "_" in front, and other modules. A file is generated
// if it says so as Go wants it ("Code generated ... DO NOT EDIT."); else it is a test if its name
// ends in _test.go, and code if not. So a test kit (sai/saitest) is code. Figures are of code, where
// they do not say tests.
//
//   - Lines are all lines, empty ones and comments too. Columns are runes; a tab is one, as for most linters.
//   - The 99th percentile of functions is by nearest rank: the smallest length that 99 % are at or below. A function's
//     lines go from "func" to the last brace; what literals inside it have is its own.
//   - Cyclomatic complexity is 1, and 1 more for each if, for, case with an expression or a
//     communication (not default), && and ||.
//   - Methods of a type are those declared for it or its pointer in any file of its package outside
//     tests, generated ones too, and those of what it embeds of this module, each name once. Types that are
//     declared in generated files do not count.
//   - Fields of a struct are names, and those of the structs of this module that it embeds. A struct without
//     a name does not count.
//   - A room at the top is a folder in the root with Go code in or below it. An arrow goes from one
//     room to another that its code, generated or not, imports.
//   - An exported name is a function, type, constant or variable of a package that is not main, or a
//     method of an exported type. A comment of its own in front or behind it on the line, or for constants
//     and variables one of their group, documents it; a directive (//go:...) does not. Methods that
//     the standard library gives a meaning (String, Error, ...) need none. Fields are not counted.
//   - A package is too large with more than 45 files or 6,000 lines of code, if figures.go does not name it.
//   - complexity, methods and structs leave out saisim/reference, which follows the hardware's
//     description step by step on purpose.
package main
