package schema

// SwitchKey is the key of the only row of SWITCH and SWITCH_TABLE.
const SwitchKey = "switch"

// DefaultFDBAging is SONiC's ageing time of learned addresses, in seconds.
const DefaultFDBAging = 600

// Switch is the row SWITCH|switch, and the configuration part of APPL_DB's SWITCH_TABLE:switch.
type Switch struct {
	FDBAging uint32 // ageing time in seconds; 0 means that learned addresses do not age
	ECMPSeed uint32
	LAGSeed  uint32
}

// DefaultSwitch returns the defaults of the row.
func DefaultSwitch() Switch { return Switch{FDBAging: DefaultFDBAging} }

func (s *Switch) layout() layout {
	return layout{
		table: CfgSwitch, open: true,
		key: only(SwitchKey),
		fields: []field{
			number("fdb_aging_time", 0, 1_000_000, DefaultFDBAging, &s.FDBAging,
				"Seconds after which a learned address is removed; 0 keeps it."),
			number("ecmp_hash_seed", 0, 1<<32-1, 0, &s.ECMPSeed, "Seed of the hash that chooses a next hop."),
			number("lag_hash_seed", 0, 1<<32-1, 0, &s.LAGSeed, "Seed of the hash that chooses a port of a PortChannel."),
			ignored(sonicSwitch...),
		},
	}
}
