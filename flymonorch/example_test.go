package flymonorch

import (
	"fmt"

	"tamtam/tam/flymon"
)

// A query names a flow by the fields of its task's key, in their order.
func Example() {
	key, err := flymon.ParseKey("src-ip/24,dst-port")
	if err != nil {
		fmt.Println(err)
		return
	}
	row := flymon.Task{Key: key, Attribute: flymon.Attribute{Kind: flymon.Packets}}
	flow, err := flowOf(row, "10.0.0.7,443")
	fmt.Println(asks(row).Format(flow), err)
	_, err = flowOf(row, "10.0.0.7")
	fmt.Println(err)
	// Output:
	// 10.0.0.0,443 <nil>
	// flow "10.0.0.7", want a value for each of src-ip/24,dst-port
}
