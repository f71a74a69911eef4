package access_test

import (
	"fmt"
	"strings"

	"tamtam/mgmt/access"
)

// A file of users has one user per line. A server with users accepts only these users.
func ExampleReadUsers() {
	users, err := access.ReadUsers(strings.NewReader("# who may\nada:with:colons:admin\nbob:guess:read-only\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range users {
		fmt.Println(u.Name, u.Role)
	}
	roles, err := access.ParseRoles(
		strings.NewReader("porter read /interfaces\nporter write /interfaces/interface/config/description\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(roles.Check([]access.User{{Name: "eve", Role: "root"}}))
	// Output:
	// ada admin
	// bob read-only
	// user eve: there is no role "root"; there are admin, operator, porter, read-only
}
