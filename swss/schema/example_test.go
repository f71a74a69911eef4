package schema_test

import (
	"fmt"

	"tamtam/swss/schema"
)

// A row of CONFIG_DB becomes a typed row with its defaults, and a row again.
func ExampleParseCollector() {
	c, err := schema.ParseCollector("c1", map[string]string{"ipaddress": "2001:DB8::1", "port": "9070"})
	fmt.Println(c.Addr, c.Port, c.Protocol, err)
	fmt.Println(c.Fields())
	// Output:
	// 2001:db8::1 9070 UDP <nil>
	// map[ipaddress:2001:db8::1 ipaddress-type:ipv6 port:9070 protocol:UDP]
}

// All errors of a row are reported at once: object, field, value, and the valid form.
func ExampleParseSampler() {
	_, err := schema.ParseSampler("often", map[string]string{"sampling-rate": "0", "sample-rate": "64"})
	fmt.Println(err)
	// Output:
	// TAM_SAMPLINGRATE_TABLE|often: sampling-rate "0": want a number in 1..16777216
	// TAM_SAMPLINGRATE_TABLE|often: sample-rate "64": want a field of the table; the nearest is sampling-rate
}

// The entry of a table describes its rows, as docs/reference/databases.md does.
func ExampleTableOf() {
	t := schema.TableOf(schema.CfgTAMCollector)
	fmt.Println(t.Config, t.Appl, t.State, t.Status)
	for _, f := range t.Fields {
		fmt.Println(f.Name, f.Form, f.Default, f.Must)
	}
	// Output:
	// TAM_COLLECTORS_TABLE TAM_COLLECTORS_TABLE TAM_STATE_COLLECTORS_TABLE status
	// ipaddress a unicast IPv4 or IPv6 address  true
	// ipaddress-type ipv4 or ipv6  false
	// port 1..65535  true
	// protocol UDP or TCP UDP false
}
