// Command metrics measures the source tree: its size, its rooms and the imports between them, the length and complexity
// of functions, missing comments, and wrong phrases.
//
//	make metrics                    the figures, as Markdown
//	go run ./internal/metrics -list     the findings behind each figure, the worst first
//	go run ./internal/metrics -limits   only figures that break a limit; the gate runs this
//
// The goals are beside the figures in figures.go. Goals with a reason are limits of the gate.
//
// # What is counted, and how
//
// Files are all .go files of the module, for any operating system, except those that Go ignores: folders named testdata
// or with a leading "." or "_", and other modules. A file is generated if it has Go's standard line
// ("Code generated ... DO NOT EDIT."). Otherwise it is a test if its name ends in _test.go, and code if not. So a test
// kit (sai/saitest) is code. A figure is about code unless its name mentions tests.
//
//   - Lines include empty ones and comments. Columns are runes. A tab is one column, as in most linters.
//   - The 99th percentile of functions is by nearest rank: the smallest length that 99 % do not exceed. A function's
//     lines go from "func" to the last brace, including the literals inside it.
//   - Cyclomatic complexity is 1, plus 1 for each if, for, && and ||, and for each case with an expression or a
//     communication (not default).
//   - Methods of a type are those declared for it or its pointer in any file of its package except tests, including
//     generated files. Methods of embedded types of this module count too. Each name counts once. Types that are
//     declared in generated files do not count.
//   - Fields of a struct are its names and the fields of embedded structs of this module. A struct without a name does
//     not count.
//   - A room at the top is a folder in the root with Go code in or below it. An arrow goes from one room to another
//     that its code, generated or not, imports.
//   - An exported name is a function, type, constant or variable of a package other than main, or a method of an
//     exported type. It is documented by its own comment, before it or behind it on the line. For constants and
//     variables a comment of the group is enough. A directive (//go:...) is no comment. Methods with a meaning in the
//     standard library (String, Error, ...) need none. Fields are not counted.
//   - A package is too large if it has more than 45 files or 6,000 lines of code, unless figures.go lists it.
//   - A file under version control is large above 1 MiB, unless tracked.go lists it with a reason. A built program is
//     known by its first bytes. Without git, all files count.
//   - The figures of complexity, methods and structs leave out saisim/reference, which follows the hardware's
//     description step by step on purpose.
package main
