package device_test

import (
	"maps"
	"slices"
	"testing"

	"tamtam/device"
	"tamtam/swss"
)

// A tamList is a list of /tam with an entry that tests of the northbound change, delete and show.
type tamList struct {
	path   string
	entry  string                // the entry's name; "" means that path is a container
	config string                // JSON of its rows in CONFIG_DB, in addition to wideConfig
	show   string                // part of the show command between "show tam" and the name
	rows   []string              // rows of CONFIG_DB that make the entry; if empty, it cannot be deleted
	line   string                // output of show while the entry is in force, with single blanks
	leaves map[string]leafChange // other values of all of its config leaves
	broken string                // JSON of an invalid row of CONFIG_DB for such an entry
}

// A leafChange is another value of a leaf, with the changes that make it valid.
type leafChange struct {
	value   string   // value in JSON
	with    string   // other leaves of the entry, in JSON
	without []string // paths of leaves to delete, below the entry
}

// tamLists returns all lists.
func tamLists() []tamList {
	return slices.Concat(switchLists(), tailStampLists(), altMarkLists(), flyMonLists(), recordLists(),
		dropMonitorLists(), ifaLists())
}

// at returns the path of the entry.
func (l tamList) at() string {
	if l.entry == "" {
		return l.path
	}
	return l.path + "[name=" + l.entry + "]"
}

// withRows adds rows, as JSON, to a configuration.
func withRows(t *testing.T, c device.ConfigDB, rows string) {
	t.Helper()
	if rows == "" {
		return
	}
	more, err := device.ParseConfigDB([]byte(rows))
	if err != nil {
		t.Fatal(err)
	}
	for table, rows := range more {
		if c[table] == nil {
			c[table] = map[string]swss.FieldValues{}
		}
		maps.Copy(c[table], rows)
	}
}

// switchLists returns the lists that belong to no feature.
func switchLists() []tamList {
	return []tamList{
		{
			path: "/tam/switch", show: "switch",
			leaves: map[string]leafChange{
				"config/switch-id":     {value: `8`},
				"config/enterprise-id": {value: `10`},
				"config/keep-packets":  {value: `"all"`},
			},
		},
		{
			path: "/tam/collectors/collector", entry: "c6", show: "collectors",
			rows: []string{"TAM_COLLECTORS_TABLE|c6"}, line: "IP Address : 2001:db8::7",
			leaves: map[string]leafChange{
				"config/ip":       {value: `"10.9.0.8"`},
				"config/port":     {value: `10`},
				"config/protocol": {value: `"TCP"`},
			},
		},
		{
			path: "/tam/samplers/sampler", entry: "s", show: "samplers",
			rows: []string{"TAM_SAMPLINGRATE_TABLE|s"}, line: "Sample Rate : 100",
			leaves: map[string]leafChange{
				"config/sampling-rate": {value: `101`},
			},
		},
		{
			path: "/tam/flowgroups/flowgroup", entry: "spare", show: "flow-groups",
			rows: []string{"TAM_FLOWGROUP_TABLE|spare", "ACL_RULE|TAM|spare"}, line: "SRC IP : 10.0.0.0/8",
			leaves: map[string]leafChange{
				"config/priority":      {value: `99`},
				"config/ip-version":    {value: `"IPV4"`},
				"config/interfaces":    {value: `["Ethernet2","Ethernet1"]`},
				"config/other-fields":  {value: `["VLAN_ID=7"]`},
				"l2/config/source-mac": {value: `"02:00:00:00:00:0A"`},
				"l2/config/source-mac-mask": {value: `"ff:ff:00:00:00:00"`,
					with: `{"l2":{"config":{"source-mac":"02:01:00:00:00:00"}}}`},
				"l2/config/destination-mac": {value: `"02:00:00:00:00:0B"`},
				"l2/config/destination-mac-mask": {value: `"ff:ff:00:00:00:00"`,
					with: `{"l2":{"config":{"destination-mac":"02:01:00:00:00:00"}}}`},
				"l2/config/ethertype":               {value: `2048`},
				"ipv4/config/source-address":        {value: `"10.2.0.1/16"`},
				"ipv4/config/destination-address":   {value: `"10.2.0.1"`},
				"ipv4/config/dscp":                  {value: `0`},
				"ipv4/config/protocol":              {value: `17`},
				"ipv4/config/hop-limit":             {value: `0`},
				"ipv6/config/source-address":        {value: `"2001:DB8::/33"`, without: []string{"ipv4"}},
				"ipv6/config/destination-address":   {value: `"2001:db8:0::1"`, without: []string{"ipv4"}},
				"ipv6/config/source-flow-label":     {value: `0`, without: []string{"ipv4"}},
				"ipv6/config/dscp":                  {value: `9`, without: []string{"ipv4"}},
				"ipv6/config/protocol":              {value: `17`, without: []string{"ipv4"}},
				"ipv6/config/hop-limit":             {value: `9`, without: []string{"ipv4"}},
				"transport/config/source-port":      {value: `"5..9"`},
				"transport/config/destination-port": {value: `53`},
				"transport/config/tcp-flags":        {value: `["TCP_ACK","TCP_SYN"]`},
			},
		},
	}
}

func tailStampLists() []tamList {
	return []tamList{
		{
			path: "/tam/tailstamping-sessions/tailstamping-session", entry: "t4", show: "tail-stamping sessions",
			rows: []string{"TAM_TAILSTAMPING_TABLE|t4"}, line: "Flow Group Name : v4",
			broken: `{"TAM_TAILSTAMPING_TABLE": {"t": {"flowgroup": "none"}}}`,
			leaves: map[string]leafChange{
				"config/flowgroup": {value: `"spare"`},
				"config/clamp-mss": {value: `2`, with: `{"config":{"flowgroup":"spare"}}`},
			},
		},
	}
}

// withHeader is a session that encapsulates packets.
const withHeader = `{"config":{"role":"initiator","mark":"ipv6-altmark-l","mark2":"ipv6-altmark-d","flow-mon-id":7,` +
	`"encap-src":"2001:db8:f::1","encap-dst":"2001:db8::2"}}`

func altMarkLists() []tamList {
	return []tamList{
		{
			path: "/tam/alt-mark-sessions/alt-mark-session", entry: "a", show: "alt-mark sessions",
			rows: []string{"TAM_ALTMARK_TABLE|a"}, line: "Flow Group Name : v4",
			broken: `{"TAM_ALTMARK_TABLE": {"a": {"flowgroup": "none"}}}`,
			leaves: map[string]leafChange{
				"config/flowgroup": {value: `"masks"`},
				"config/role":      {value: `"terminator"`},
				"config/method":    {value: `"step"`, without: []string{"config/mark2"}},
				"config/interval":  {value: `1`},
				"config/mark":      {value: `"dscp2"`},
				"config/mark2":     {value: `"dscp2"`},
				"config/clear":     {value: `true`, with: `{"config":{"role":"terminator"}}`},
				"config/slot-sync": {value: `false`, with: `{"config":{"method":"muxed","delay-max":"1000000"}}`,
					without: []string{"config/mark2"}},
				"config/mean-delay":      {value: `true`, with: `{"config":{"method":"step"}}`, without: []string{"config/mark2"}},
				"config/foreign-marks":   {value: `"drop"`, with: `{"config":{"role":"initiator"}}`},
				"config/flow-mon-id":     {value: `7`},
				"config/encap-src":       {value: `"2001:db8:f::8"`, with: withHeader},
				"config/encap-dst":       {value: `"2001:db8::9"`, with: withHeader},
				"config/encap-header":    {value: `"hop-by-hop"`, with: withHeader},
				"config/encap-hop-limit": {value: `9`, with: withHeader},
				"config/clock-trust":     {value: `"declared"`},
				"config/clock-error":     {value: `"7"`},
				"config/delay-min":       {value: `"7"`},
				"config/delay-max":       {value: `"7"`},
			},
		},
	}
}

func flyMonLists() []tamList {
	return []tamList{
		{
			path: "/tam/flymon-tasks/flymon-task", entry: "t2", show: "flymon task",
			rows: []string{"TAM_FLYMON_TASK_TABLE|t2"}, line: "Key : src-ip/16,dst-port",
			broken: `{"TAM_FLYMON_TASK_TABLE": {"t": {"key": "COLOUR"}}}`,
			leaves: map[string]leafChange{
				"config/flowgroup":        {value: `"tasks"`, without: []string{"config/filter"}},
				"config/filter":           {value: `"ip=4"`},
				"config/key":              {value: `"dst-port,src-ip"`},
				"config/attribute":        {value: `"frequency(bytes)"`},
				"config/algorithm":        {value: `"cms"`},
				"config/memory":           {value: `500`},
				"config/rows":             {value: `2`},
				"config/allocation":       {value: `"efficient"`},
				"config/epoch":            {value: `2000`},
				"config/threshold":        {value: `6`},
				"config/change-threshold": {value: `7`},
				"config/readout":          {value: `"live"`},
				"config/translation":      {value: `"shift"`},
				"config/share":            {value: `"1/4"`},
				"config/pinned":           {value: `true`},
				"config/plan":             {value: `true`},
			},
		},
		{
			path: "/tam/flymon-queries/flymon-query", entry: "q", show: "flymon query",
			rows: []string{"TAM_FLYMON_QUERY_TABLE|q"}, line: "q t 10.0.0.1",
			broken: `{"TAM_FLYMON_QUERY_TABLE": {"q": {"task": "none", "flow": "10.0.0.1"}}}`,
			leaves: map[string]leafChange{
				"config/task": {value: `"t3"`},
				"config/flow": {value: `"10.0.0.2"`},
			},
		},
	}
}

func recordLists() []tamList {
	return []tamList{
		{
			path: "/tam/tablerecord-sessions/tablerecord-session", entry: "r", show: "table-record",
			rows: []string{"TAM_TABLERECORD_TABLE|r"}, line: "Collector : cr, 10.2.0.2:9",
			broken: `{"TAM_TABLERECORD_TABLE": {"r": {"flowgroup": "none"}}}`,
			leaves: map[string]leafChange{
				"config/flowgroup":     {value: `"spare"`},
				"config/collector":     {value: `"c7"`},
				"config/sampler":       {value: `"s7"`},
				"config/phv":           {value: `"16"`},
				"config/mode":          {value: `"exec+hit"`},
				"config/algorithm":     {value: `"greedy-restarts"`},
				"config/must-record":   {value: `["chip.acl"]`},
				"config/probabilities": {value: `"counted"`},
				"config/encapsulation": {value: `"erspan"`},
				"config/truncate":      {value: `64`},
				"config/identities":    {value: `true`},
				"config/source-ip":     {value: `"10.2.0.3"`},
			},
		},
	}
}

func dropMonitorLists() []tamList {
	return []tamList{
		{
			path: "/tam/report-collectors/report-collector", entry: "dc", show: "drop-monitor collectors",
			config: `{
				"TAM_COLLECTOR": {"dc": {"dst_ip": "10.2.0.2", "dst_port": "9"}, "dd": {"dst_ip": "10.2.0.2", "dst_port": "10"}},
				"NEIGH": {"Ethernet2|10.2.0.3": {"neigh": "02:00:00:00:02:03"}}}`,
			rows: []string{"TAM_COLLECTOR|dc"}, line: "IP Address : 10.2.0.2",
			broken: `{"TAM_COLLECTOR": {"c2": {"dst_ip": "nowhere"}}}`,
			leaves: map[string]leafChange{
				"config/ip":        {value: `"10.2.0.3"`},
				"config/port":      {value: `11`},
				"config/source-ip": {value: `"10.2.0.9"`},
				"config/dscp":      {value: `8`},
				"config/truncate":  {value: `100`},
			},
		},
		{
			path: "/tam/match-groups/match-group", entry: "dg", show: "drop-monitor groups",
			config: `{"TAM_FLOW_GROUP": {
				"dg": {"ports": "Ethernet1"}, "dg|r1": {"src_ip_prefix": "10.1.2.3/8", "dst_ip_prefix": "0.0.0.0/0"},
				"dh": {"ports": "Ethernet2"}, "dh|r1": {"src_ip_prefix": "10.1.0.0/16", "dst_ip_prefix": "0.0.0.0/0"}}}`,
			rows: []string{"TAM_FLOW_GROUP|dg", "TAM_FLOW_GROUP|dg|r1"}, line: "Ports : Ethernet1",
			broken: `{"TAM_FLOW_GROUP": {"f2": {"aging_interval": "never"}}}`,
			leaves: map[string]leafChange{
				"config/ports":          {value: `["Ethernet2"]`},
				"config/aging-interval": {value: `2000`},
			},
		},
		{
			path: "/tam/drop-monitor-sessions/drop-monitor-session", entry: "ds", show: "drop-monitor sessions",
			config: `{"TAM_SESSION": {"ds": {"type": "drop-monitor", "report_type": "ipfix", "flow_group": "dh", "collector": ` +
				`"dd"}}}`,
			rows: []string{"TAM_SESSION|ds"}, line: "Collectors : dd",
			broken: `{"TAM_SESSION": {"d": {"type": "guess"}}}`,
			leaves: map[string]leafChange{
				"config/flow-group":        {value: `"dg"`},
				"config/collector":         {value: `["dc"]`},
				"config/sampler":           {value: `"s7"`},
				"config/drop-type":         {value: `"stateful"`},
				"config/aging-interval":    {value: `3000`, with: `{"config": {"drop-type": "stateful"}}`},
				"config/report-layout":     {value: `"mod"`},
				"config/max-report-rate":   {value: `100`},
				"config/max-report-burst":  {value: `10`, with: `{"config": {"max-report-rate": 100}}`},
				"config/template-interval": {value: `30`},
			},
		},
	}
}

func ifaLists() []tamList {
	const path = "/tam/ifa-sessions/ifa-session"
	return []tamList{
		{
			path: path, entry: "ii", show: "ifa sessions",
			config: `{"TAM_SESSION": {"ii": {"type": "ifa", "role": "initiator", "flow_group": "dh"}}}`,
			rows:   []string{"TAM_SESSION|ii"}, line: "Role : initiator",
			broken: `{"TAM_SESSION": {"i": {"type": "ifa", "role": "guess"}}}`,
			leaves: map[string]leafChange{
				"config/role":              {value: `"terminator"`},
				"config/flow-group":        {value: `"dg"`},
				"config/sampler":           {value: `"s7"`},
				"config/hop-limit":         {value: `7`},
				"config/max-length":        {value: `80`},
				"config/collector":         {value: `["dc"]`, with: `{"config": {"role": "terminator"}}`},
				"config/template-interval": {value: `30`, with: `{"config": {"role": "terminator"}}`},
			},
		},
	}
}
