// Package yang holds the YANG modules that the northbound serves, and in
// tamyang the Go that ygot generates from them. Only modules enter here: the
// text of each is the project's own, also where the name is OpenConfig's and
// the module is the part of it that the switch has. What a node is in the
// databases is said in package mgmt, one table per module.
//
// After a change of a module run go generate ./yang.
package yang

//go:generate sh -c "go run ../internal/tables yang > tamtam-losses.yang"
//go:generate ./generate.sh
