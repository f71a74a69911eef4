package schema

// SwitchKey is the key of the only row of SWITCH and SWITCH_TABLE.
const SwitchKey = "switch"

// DefaultFDBAging is SONiC's ageing time of learned addresses, in seconds.
const DefaultFDBAging = 600

// Switch is the row SWITCH|switch, and APPL_DB's SWITCH_TABLE:switch as far as
// it is configuration.
type Switch struct {
	FDBAging uint32 // seconds, 0..1000000; 0: learned addresses stay
	ECMPSeed uint32 // of the hash that chooses a next hop
	LAGSeed  uint32 // of the hash that chooses a LAG's port
}

// DefaultSwitch is what holds where the row says nothing.
func DefaultSwitch() Switch { return Switch{FDBAging: DefaultFDBAging} }

// ParseSwitch reads SWITCH and SWITCH_TABLE; unknown fields are ignored.
func ParseSwitch(key string, fields map[string]string) (Switch, error) {
	r := newReader(CfgSwitch, key, fields)
	if key != SwitchKey {
		r.bad("", key, SwitchKey)
	}
	s := Switch{
		FDBAging: uint32(r.number("fdb_aging_time", 0, 1_000_000, DefaultFDBAging)),
		ECMPSeed: uint32(r.number("ecmp_hash_seed", 0, 1<<32-1, 0)),
		LAGSeed:  uint32(r.number("lag_hash_seed", 0, 1<<32-1, 0)),
	}
	return s, r.err()
}

// Fields formats the row.
func (s Switch) Fields() map[string]string {
	return map[string]string{
		"fdb_aging_time": utoa(s.FDBAging), "ecmp_hash_seed": utoa(s.ECMPSeed), "lag_hash_seed": utoa(s.LAGSeed),
	}
}
