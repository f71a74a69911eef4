package hostd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tamtam/hoststack/lldp"
	"tamtam/schema"
	"tamtam/swss"
)

// discovery is LLDP.
type discovery struct {
	*lldp.Agent
	system lldp.System
	// before are rows of an earlier hostd, which count until those that they are of must have spoken again.
	before map[string]swss.FieldValues
	until  time.Time
}

// loadDiscovered reads what an earlier hostd has left.
func (h *Host) loadDiscovered(ctx context.Context) error {
	rows, err := swss.NewTable(h.redis.DB(swss.ApplDB), schema.AppLLDPEntry).Dump(ctx)
	if err != nil {
		return err
	}
	h.told[schema.AppLLDPEntry] = rows
	h.lldp.before, h.lldp.until = rows, h.now().Add(lldp.TTL)
	return nil
}

// discovered are the rows of LLDP_ENTRY_TABLE, as SONiC's lldp-syncd writes them: of several neighbours of a port the
// one that came last.
func (h *Host) discovered() map[string]swss.FieldValues {
	rows := map[string]swss.FieldValues{}
	if h.now().Before(h.lldp.until) {
		for port, row := range h.lldp.before {
			if h.isUp(port) {
				rows[port] = row
			}
		}
	}
	for _, n := range h.lldp.Neighbors() {
		row := swss.FieldValues{
			"lldp_rem_index":              strconv.FormatUint(uint64(n.Index), 10),
			"lldp_rem_time_mark":          strconv.FormatInt(n.Heard.Unix(), 10),
			"lldp_rem_chassis_id_subtype": strconv.Itoa(int(n.ChassisSubtype)),
			"lldp_rem_chassis_id":         n.ChassisID,
			"lldp_rem_port_id_subtype":    strconv.Itoa(int(n.PortSubtype)),
			"lldp_rem_port_id":            n.PortID,
			"lldp_rem_port_desc":          n.PortDescription,
			"lldp_rem_sys_name":           n.SystemName,
			"lldp_rem_sys_desc":           n.SystemDescription,
			"lldp_rem_sys_cap_supported":  capabilities(n.Supported),
			"lldp_rem_sys_cap_enabled":    capabilities(n.Enabled),
			"lldp_rem_man_addr":           "",
		}
		if n.Management.IsValid() {
			row["lldp_rem_man_addr"] = n.Management.String()
		}
		rows[n.Port] = row
	}
	return rows
}

// capabilities are the bits in the order of SNMP, the first one highest, as two octets.
func capabilities(bits uint16) string {
	var b [2]byte
	for i := range 16 {
		if bits>>i&1 != 0 {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return fmt.Sprintf("%02X %02X", b[0], b[1])
}
