package mgmt_test

import (
	"fmt"
	"strings"

	"tamtam/mgmt"
)

// A file of users has one on each line. A server that has users asks for one of them.
func ExampleReadUsers() {
	users, err := mgmt.ReadUsers(strings.NewReader("# who may\nada:with:colons:admin\nbob:guess:read-only\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range users {
		fmt.Println(u.Name, u.Role)
	}
	_, err = mgmt.ReadUsers(strings.NewReader("eve:guess:root\n"))
	fmt.Println(err)
	// Output:
	// ada admin
	// bob read-only
	// line 1: role "root" is neither read-only nor admin
}
