package device

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// AllPorts, given as a number of ports, stands for all configured ports.
const AllPorts = -1

// maxPorts is the largest number of ports that are wired by number.
const maxPorts = 64

// factory adds the rows that a configuration lacks, as factory defaults. These are the switch's name (the host's name)
// and a MAC address derived from it, so that two switches of one network have different addresses. If no port is
// configured, it adds the profile's default ports, and further ones up to the number in ports.
func factory(ctx context.Context, r *swss.Redis, p profile.Profile, ports int) error {
	add := ConfigDB{}
	metadata := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgDeviceMetadata)
	if _, found, err := metadata.Get(ctx, schema.MetadataKey); err != nil {
		return err
	} else if !found {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		row := schema.DeviceMetadata{Hostname: name, MAC: hostAddress(name), HWSKU: p.Name, Platform: "x86_64-tamtam"}
		add[schema.CfgDeviceMetadata] = map[string]swss.FieldValues{schema.MetadataKey: row.Fields()}
	}
	there, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgPort).Keys(ctx)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		if add[schema.CfgPort], err = factoryPorts(p, ports); err != nil {
			return err
		}
	}
	return add.Load(ctx, r)
}

// hostAddress returns a locally administered address, which is derived from the host's name by a hash (40 bits).
func hostAddress(name string) schema.MAC {
	sum := sha256.Sum256([]byte(name))
	return schema.MAC{2, sum[0], sum[1], sum[2], sum[3], sum[4]}
}

// factoryPorts returns the rows of a chip's default ports. If more are requested, it adds ports of the last kind, while
// lanes remain. As in SONiC, a port is named by its first lane.
func factoryPorts(p profile.Profile, ports int) (map[string]swss.FieldValues, error) {
	kinds := slices.Clone(p.Default)
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no port is configured, and the profile %s has none by default: want rows of PORT", p.Name)
	}
	count := 0
	for _, k := range kinds {
		count += int(k.Count)
	}
	last := &kinds[len(kinds)-1]
	last.Count += uint32(max(0, ports-count))
	if end := last.First + last.Count*last.Lanes; end > p.FirstLane+p.Lanes {
		return nil, fmt.Errorf("%d ports: the profile %s has lanes for %d", ports, p.Name,
			ports-int((end-p.FirstLane-p.Lanes+last.Lanes-1)/last.Lanes))
	}
	rows, number := map[string]swss.FieldValues{}, uint32(0)
	for _, k := range kinds {
		for i := range k.Count {
			lanes := make([]string, k.Lanes)
			for j := range lanes {
				lanes[j] = strconv.FormatUint(uint64(k.First+i*k.Lanes)+uint64(j), 10)
			}
			index := strconv.Itoa(len(rows) + 1)
			rows[fmt.Sprintf("Ethernet%d", number)] = swss.FieldValues{
				"lanes": strings.Join(lanes, ","), "speed": strconv.FormatUint(uint64(k.Mbps), 10), "alias": "Eth" + index,
				"index": index, "mtu": strconv.Itoa(schema.DefaultMTU), "admin_status": "up",
			}
			number += k.Lanes
		}
	}
	return rows, nil
}

// wiredInOrder returns the interfaces of the first n ports. [AllPorts] means all ports, but at most 64. The first port
// gets eth1, the next eth2, as in containerlab and SONiC's virtual switch. Ports that are already wired keep their
// interface.
func wiredInOrder(ports []string, n int, wires map[string]string) (map[string]string, error) {
	all := n == AllPorts
	if all {
		n = min(len(ports), maxPorts)
	}
	if n > len(ports) {
		return nil, fmt.Errorf("%d ports are to be wired to eth1 to eth%d, and %d are configured", n, n, len(ports))
	}
	used, out := map[string]string{}, map[string]string{}
	for port, name := range wires {
		used[name], out[port] = port, name
	}
	for i, port := range inOrder(ports)[:n] {
		name := fmt.Sprintf("eth%d", i+1)
		_, wired := wires[port]
		other, taken := used[name]
		switch {
		case wired || taken && all:
		case taken:
			return nil, fmt.Errorf("%s is to be wired to %s, which %s is wired to", port, name, other)
		default:
			out[port] = name
		}
	}
	return out, nil
}

// inOrder sorts port names by the numbers at their ends.
func inOrder(ports []string) []string {
	type named struct {
		stem   string
		number uint64
	}
	parse := func(s string) named {
		stem := strings.TrimRight(s, "0123456789")
		n, _ := strconv.ParseUint(s[len(stem):], 10, 64) // 0 if the number is missing or too large
		return named{stem, n}
	}
	return slices.SortedFunc(slices.Values(ports), func(a, b string) int {
		x, y := parse(a), parse(b)
		return cmp.Or(strings.Compare(x.stem, y.stem), cmp.Compare(x.number, y.number), strings.Compare(a, b))
	})
}
