package dial_test

import (
	"fmt"
	"strings"

	"tamtam/fleet/dial"
)

// A file of paths with errors returns an error that names all of them.
func ExampleReadFile() {
	_, err := dial.ReadFile(strings.NewReader(`
paths:
- name: west-east
  back: east-west
  points:
  - {switch: leaf1, target: "10.0.0.1:8080", session: web}
  - {switch: leaf2, target: "10.0.0.2", session: web}
`))
	fmt.Println(err)
	// Output:
	// path 1 (west-east): point 2: target is "10.0.0.2", want HOST:PORT or unix:/PATH
	// path west-east: back is "east-west", want the name of a path
}
