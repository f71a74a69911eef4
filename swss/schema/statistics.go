package schema

import (
	"strconv"
	"strings"
)

// A Statistic is a counter of a port in its row of [CountersTable], shown by gNMI, the switch's page and the metrics.
type Statistic struct {
	Leaf      string   // name of OpenConfig's leaf
	Direction string   // in or out
	Name      string   // bytes, packets, discards or errors
	Cast      string   // ucast, multicast or broadcast if the counter is limited to such packets; otherwise empty
	Of        []string // fields of SAI whose sum is the counter
}

// PortStatistics returns the counters of a port.
func PortStatistics() (list []Statistic) {
	for _, direction := range []string{"in", "out"} {
		add := func(leaf, name, cast string, of ...string) {
			for i := range of {
				of[i] = "SAI_PORT_STAT_IF_" + strings.ToUpper(direction) + "_" + of[i]
			}
			list = append(list, Statistic{direction + "-" + leaf, direction, name, cast, of})
		}
		add("octets", "bytes", "", "OCTETS")
		add("pkts", "packets", "", "UCAST_PKTS", "MULTICAST_PKTS", "BROADCAST_PKTS")
		add("unicast-pkts", "packets", "ucast", "UCAST_PKTS")
		add("multicast-pkts", "packets", "multicast", "MULTICAST_PKTS")
		add("broadcast-pkts", "packets", "broadcast", "BROADCAST_PKTS")
		add("discards", "discards", "", "DISCARDS")
		add("errors", "errors", "", "ERRORS")
	}
	return list
}

// Count returns the counter of a row. The counter is unknown if one of its parts is unknown.
func (s Statistic) Count(row map[string]string) (n uint64, known bool) {
	for _, field := range s.Of {
		part, err := strconv.ParseUint(row[field], 10, 64)
		if err != nil {
			return 0, false
		}
		n += part
	}
	return n, true
}
