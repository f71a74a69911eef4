package device_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
	"tamtam/swss/schema"
)

// The content of a startup configuration determines its form, and errors describe its problems.
func TestStartupIsRecognisedByItsContent(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // rows, openconfig, script, or part of the error
	}{
		{"rows", `{"PORT": {"Ethernet0": {"lanes": "1"}}}`, "rows"},
		{"no rows", ` {} `, "rows"},
		{"a table in small letters", `{"PORT": {"Ethernet0": {"lanes": "1"}}, "onie_machine": {}, "platform": null}`, "rows"},
		{"a value in small letters", `{"PORT": {}, "platform": "x", "onie_config_version": 1}`, "rows"},
		{"a value for a table", `{"PORT": {}, "VLAN": "x"}`, `table "VLAN": want rows of fields`},
		{"null where nothing reads it",
			`{"PORT": {"Ethernet0": {"lanes": "1", "cage": null}}, "ZTP": {"mode": {"url": null}}}`,
			"rows"},
		{"null in a field", `{"PORT": {"Ethernet0": {"lanes": null}}}`, `PORT|Ethernet0: field "lanes": want a string`},
		{"null in a map", `{"DSCP_TO_TC_MAP": {"m": {"3": null}}}`, `DSCP_TO_TC_MAP|m: field "3": want a string`},
		{"OpenConfig", "\n{\"openconfig-interfaces:interfaces\": {}}", "openconfig"},
		{"OpenConfig without modules", `{"interfaces": {}, "tam": {}}`, "openconfig"},
		{"a script", "configure terminal\n", "script"},
		{"a script that begins with a comment", "#!/usr/bin/env tamtam\n! and so on\n", "script"},
		{"nothing", "", "script"},
		{"half of JSON", "{\"PORT\": {\n  \"Ethernet0\": {\n", "line 3: unexpected end of JSON input"},
		{"a wrong row", `{"PORT": {"Ethernet0": "up"}}`, `table "PORT": want rows of fields`},
		{"a row twice", "{\"PORT\": {\"Ethernet0\": {},\n\"Ethernet0\": {}}}", `line 2: "PORT": "Ethernet0" is there twice`},
		{"a node twice", "{\"tam\": {\"a\": 1,\n\"a\": 2}}", `line 2: "tam": "a" is there twice`},
		{"a list", `[{"PORT": {}}]`, "a JSON list: want an object"},
		{"both", `{"PORT": {}, "openconfig-tam:tam": {}}`, `"PORT" is a table of CONFIG_DB, and "openconfig-tam:tam" a node`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := device.ParseStartup([]byte(tt.text))
			got := map[bool]string{s.Rows != nil: "rows", s.OpenConfig != nil: "openconfig", s.Script != nil: "script"}[true]
			if err != nil {
				got = err.Error()
			}
			if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzStartup(f *testing.F) {
	for _, text := range []string{"", "{}", "[", "show version\n", `{"tam":{}}`,
		`{"PORT":{"Ethernet0":{"lanes":"1"}},"a":1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := device.ParseStartup(text)
		forms := 0
		for _, is := range []bool{s.Rows != nil, s.OpenConfig != nil, s.Script != nil} {
			if is {
				forms++
			}
		}
		if err == nil && forms != 1 {
			t.Errorf("%d forms, want 1", forms)
		}
	})
}

// A switch in its factory state has the ports of its profile, and more of the last kind if more are requested.
func TestFactoryPorts(t *testing.T) {
	access, err := profile.Load("access48")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		profile profile.Profile
		ports   int
		want    int
		some    map[string]string // lanes of some ports, by port name
		err     string
	}{
		{profile: profile.Default(), want: 32, some: map[string]string{"Ethernet0": "1,2,3,4",
			"Ethernet124": "125,126,127,128"}},
		{profile: profile.Default(), ports: 4, want: 32},
		{profile: profile.Default(), ports: 64, want: 64, some: map[string]string{"Ethernet252": "253,254,255,256"}},
		{profile: access, want: 54, some: map[string]string{"Ethernet47": "48", "Ethernet48": "49,50,51,52"}},
		{profile: profile.Small(), ports: 9, err: "9 ports: the profile small has lanes for 8"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d", tt.profile.Name, tt.ports), func(t *testing.T) {
			rows, err := device.FactoryPorts(tt.profile, tt.ports)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || len(rows) != tt.want {
				t.Fatalf("%d ports, %v; want %d", len(rows), err, tt.want)
			}
			for name, lanes := range tt.some {
				if rows[name]["lanes"] != lanes {
					t.Errorf("%s has lanes %q, want %q", name, rows[name]["lanes"], lanes)
				}
			}
			for name, row := range rows {
				if _, err := schema.ParsePort(name, row); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The first port is wired to eth1, the next to eth2, ordered by the numbers in their names.
func TestPortsAreWiredInOrder(t *testing.T) {
	ports := []string{"Ethernet100", "Ethernet8", "Ethernet0", "Ethernet4"}
	tests := []struct {
		name  string
		n     int
		wires map[string]string
		want  map[string]string
		err   string
	}{
		{"some", 2, nil, map[string]string{"Ethernet0": "eth1", "Ethernet4": "eth2"}, ""},
		{"all", device.AllPorts, nil,
			map[string]string{"Ethernet0": "eth1", "Ethernet4": "eth2", "Ethernet8": "eth3", "Ethernet100": "eth4"}, ""},
		{"one is wired otherwise", 2, map[string]string{"Ethernet4": "lan"},
			map[string]string{"Ethernet0": "eth1", "Ethernet4": "lan"}, ""},
		{"an interface is used", 2, map[string]string{"Ethernet8": "eth2"}, nil,
			"Ethernet4 is to be wired to eth2, which Ethernet8 is wired to"},
		{"an interface is used, and all are asked for", device.AllPorts, map[string]string{"Ethernet8": "eth2"},
			map[string]string{"Ethernet0": "eth1", "Ethernet8": "eth2", "Ethernet100": "eth4"}, ""},
		{"too many", 5, nil, nil, "5 ports are to be wired to eth1 to eth5, and 4 are configured"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := device.WiredInOrder(ports, tt.n, tt.wires)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, tt.want) {
				t.Errorf("%v, %v; want %v", got, err, tt.want)
			}
		})
	}
	odd, want := []string{"Ethernet1", "a1", "Ethernet", "Ethernet0"}, []string{"Ethernet", "Ethernet0", "Ethernet1", "a1"}
	if got := device.InOrder(odd); !slices.Equal(got, want) {
		t.Errorf("odd names are in the order %v, want %v", got, want)
	}
}

// SONiC's files have tables that nothing reads and PortChannels with leading zeros. The switch starts with them, and
// the rest of the file is in force.
func TestStartupWithWhatNothingReads(t *testing.T) {
	startup, err := device.ParseStartup([]byte(`{
	"DEVICE_METADATA": {"localhost": {"mac": "02:11:22:33:44:50", "cloudtype": null}},
	"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000"}, "Ethernet1": {"lanes": "1", "speed": "10000"}},
	"PORTCHANNEL": {"PortChannel0001": {"static": "true"}, "PortChannel01": {"static": "true"}},
	"PORTCHANNEL_MEMBER": {"PortChannel0001|Ethernet0": {}, "PortChannel01|Ethernet1": {}},
	"PORTCHANNEL_INTERFACE": {"PortChannel0001": {}, "PortChannel0001|10.4.0.1/31": {}, "PortChannel01": {}},
	"onie_machine": {"a": {"b": null}}, "platform": null, "aboot_vendor": "arista"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"aboot_vendor", "platform"}; !slices.Equal(startup.Left, want) {
		t.Errorf("left out: %q, want %q", startup.Left, want)
	}
	s := devicetest.NewSim(t, device.SimConfig{Config: startup.Rows})
	devicetest.RunUntilIdle(t, s)
	_, rows := statusRows(t, s)
	for _, row := range []string{
		"LAG_TABLE|PortChannel0001", "LAG_TABLE|PortChannel01", "LAG_MEMBER_TABLE|PortChannel0001|Ethernet0",
		"LAG_MEMBER_TABLE|PortChannel01|Ethernet1", "INTERFACE_TABLE|PortChannel0001", "INTERFACE_TABLE|PortChannel01",
		"INTERFACE_TABLE|PortChannel0001|10.4.0.1/31",
	} {
		if rows[row] != "active by orchagent: " {
			t.Errorf("%s is %q; there are %q", row, rows[row], rows)
		}
	}
	consistent(t, s)
}
