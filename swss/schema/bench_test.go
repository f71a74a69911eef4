package schema

import "testing"

// BenchmarkParse measures parsing and formatting of a row.
func BenchmarkParse(b *testing.B) {
	bench := func(name, key string, fields map[string]string, parse func(string, map[string]string) (Row, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				row, err := parse(key, fields)
				if err != nil {
					b.Fatal(err)
				}
				row.Fields()
			}
		})
	}
	bench("port", "Ethernet0", map[string]string{
		"lanes": "0,1,2,3", "speed": "100000", "alias": "Ethernet1/1", "mtu": "9100", "admin_status": "up",
		"fec": "rs", "index": "1",
	}, func(key string, f map[string]string) (Row, error) { return ParsePort(key, f) })
	bench("flowgroup", "web", map[string]string{"id": "7", "table-name": "TAM"},
		func(key string, f map[string]string) (Row, error) { return ParseFlowGroup(key, f) })
	bench("aclrule", "TAM|web", map[string]string{
		"PRIORITY": "10", "SRC_IP": "10.0.0.0/24", "DST_IP": "10.0.1.5", "IP_PROTOCOL": "6", "L4_DST_PORT": "443",
	}, func(key string, f map[string]string) (Row, error) {
		return ParseACLRule(builtinACLTypes[ACLTypeTAM], key, f)
	})
}
