package aclorch

import (
	"strings"
	"testing"

	"tamtam/sai/saitest"
	"tamtam/schema"
)

// The calls for a table and a rule, and for taking them away again, in SONiC's
// order.
func TestCalls(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.set(schema.AppACLTable, "DATA", "TYPE", "L3", "STAGE", "INGRESS", "PORTS", "Ethernet0,Ethernet4")
	b.step()
	t.Log(strings.Join(b.calls(), "\n"))
	b.set(schema.AppACLRule, "DATA:R1", "PRIORITY", "100", "SRC_IP", "10.0.0.0/8", "L4_DST_PORT_RANGE", "80-90", "IP_PROTOCOL", "6", "PACKET_ACTION", "DROP")
	b.step()
	t.Log(strings.Join(b.calls(), "\n"))
	t.Log(b.status(schema.StateACLTable, "DATA"), b.status(schema.StateACLRule, "DATA|R1"))
	b.del(schema.AppACLRule, "DATA:R1")
	b.step()
	t.Log(strings.Join(b.calls(), "\n"))
	b.del(schema.AppACLTable, "DATA")
	b.step()
	t.Log(strings.Join(b.calls(), "\n"))
	t.Log(b.content())
}
