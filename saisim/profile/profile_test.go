package profile

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Every shipped profile is valid, has the name of its file, and is formatted as JSON writes it.
func TestShippedProfiles(t *testing.T) {
	want := []string{"access48", "default", "fixed", "rmt12", "rmt20", "small"}
	if got := Names(); !slices.Equal(got, want) {
		t.Fatalf("names %v, want %v", got, want)
	}
	for _, name := range Names() {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if name == "default" {
			name = "rmt12"
		}
		if p.Name != name || p.About == "" {
			t.Errorf("%s: name %q, about %q", name, p.Name, p.About)
		}
		path := filepath.Join("profiles", name+".json")
		if *update {
			if err := os.WriteFile(path, p.JSON(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, _ := os.ReadFile(path); string(text) != string(p.JSON()) {
			t.Errorf("%s is not as Profile.JSON writes it; -update rewrites it", path)
		}
	}
}

// Stages have the resources that the FlyMon paper assumes. A fixed-function chip has none for programs.
func TestProfileStages(t *testing.T) {
	rmt, _ := Load("rmt12")
	if s := rmt.Stage; rmt.IngressStages != 12 || rmt.EgressStages != 12 || s.StatefulALUs != 4 || s.HashUnits != 6 ||
		rmt.PHVBits != 4096 {
		t.Errorf("rmt12: %+v", rmt)
	}
	if fixed, _ := Load("fixed"); fixed.Stage != (StageResources{}) {
		t.Errorf("fixed: %+v", fixed.Stage)
	}
}

// A file contains the differences from its base, and the error names everything wrong in it.
func TestProfileFile(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a base alone", `{"base": "small", "name": "x"}`, ""},
		{"a nested field changes alone", `{"base": "small", "name": "x", "acl": {"entries": 128}}`, ""},
		{"not JSON", "{\n\n \"name\": }", "line 3: not JSON"},
		{"cut", "{\"name\": \"x\",\n", "not JSON: EOF"},
		{"no object", `[1]`, "is [1], want an object"},
		{"empty", ``, "line 1: not JSON"},
		{"two objects", `{"base": "small", "name": "x"} {}`, "more behind"},
		{"unknown base", `{"base": "rmt13", "name": "x"}`, `base is "rmt13", want one of access48, default`},
		{"base of another type", `{"base": ["small"], "name": "x"}`, `base is ["small"]`},
		{"missing without base", `{"name": "x", "stage": {}}`, "stage.hash_units is missing"},
		{"unknown field", `{"base": "small", "clock": 1}`,
			"clock: there is no such field, want one of name, about, clock_hz"},
		{"unknown nested field", `{"base": "small", "stage": {"salus": 4}}`, "stage.salus: there is no such field"},
		{"other case", `{"base": "small", "Clock_Hz": 1}`, "Clock_Hz: there is no such field"},
		{"twice", `{"base": "small", "lanes": 8, "lanes": 8}`, "lanes is there twice"},
		{"twice, nested", `{"base": "small", "acl": {"ranges": 1, "ranges": 1}}`, "acl.ranges is there twice"},
		{"text for number", `{"base": "small", "lanes": "8"}`, `lanes is "8", want a whole number from 1 to 1024`},
		{"number for text", `{"base": "small", "name": 8}`, `name is 8, want a text`},
		{"null", `{"base": "small", "name": null}`, `name is null, want a text`},
		{"number for object", `{"base": "small", "acl": 8}`, `acl is 8, want an object`},
		{"fraction", `{"base": "small", "clock_hz": 1.5}`, "clock_hz is 1.5, want a whole number"},
		{"exponent", `{"base": "small", "clock_hz": 1e9}`, "clock_hz is 1e9, want a whole number"},
		{"negative", `{"base": "small", "mtu_bytes": -1}`, "mtu_bytes is -1"},
		{"too much for 64 bits", `{"base": "small", "clock_hz": 99999999999999999999}`, "clock_hz is 99999999999999999999"},
		{"below range", `{"base": "small", "clock_hz": 0}`, "clock_hz is 0, want a whole number from 1 to 8000000000"},
		{"above range", `{"base": "small", "mtu_bytes": 20000}`, "mtu_bytes is 20000, want a whole number from 64 to 16383"},
		{"no name", `{"base": "small", "name": ""}`, `name is ""`},
		{"list", `{"base": "small", "speeds_mbps": 10000}`, "speeds_mbps is 10000, want a list"},
		{"list of texts", `{"base": "small", "speeds_mbps": ["10G"]}`, `speeds_mbps is ["10G"], want a list`},
		{"speed twice", `{"base": "small", "speeds_mbps": [10000, 10000]}`,
			"speeds_mbps is [10000 10000], want each speed once"},
		{"no speeds", `{"base": "small", "speeds_mbps": []}`, "speeds_mbps is [], want at least one"},
		{"speed 0", `{"base": "small", "speeds_mbps": [0, 10000]}`, "speeds_mbps is 0, want"},
		{"port field missing", `{"base": "small", "default_ports": [{"count": 1}]}`, "default_ports[0].lanes is missing"},
		{"port field unknown",
			`{"base": "small", "default_ports": [{"first_lane": 0, "count": 1, "lanes": 1, "mbps": 10000, "x": 1}]}`,
			"default_ports[0].x: there"},
		{"ports of lanes that overlap", `{"base": "small", "default_ports": [{"first_lane": 0, "count": 2, "lanes": 2,
		 "mbps": 10000},
			{"first_lane": 3, "count": 1, "lanes": 1, "mbps": 10000}]}`, "default_ports[1].first_lane is 3, want at least 4"},
		{"ports of no lanes",
			`{"base": "small", "default_ports": [{"first_lane": 0, "count": 9, "lanes": 1, "mbps": 10000}]}`,
			"default_ports[0].count is 9"},
		{"ports of a speed that the lanes do not carry",
			`{"base": "small", "default_ports": [{"first_lane": 0, "count": 1, "lanes": 1, "mbps": 40000}]}`,
			"default_ports[0].mbps is 40000"},
		{"lanes that do not exist", `{"base": "small", "first_lane": 1000, "lanes": 1000}`,
			"lanes is 1000, want no lane above 1023"},
		{"priorities", `{"base": "small", "acl": {"min_priority": 2000}}`,
			"acl.min_priority is 2000, want at most acl.max_priority, 1024"},
		{"a table larger than all", `{"base": "small", "acl": {"table_entries": 65}}`,
			"acl.table_entries is 65, want at most acl.entries, 64"},
		{"header vector", `{"base": "small", "phv_bits": 100}`, "phv_bits is 100, want at least"},
		{"stateful ALUs without memory", `{"base": "small", "stage": {"sram_blocks": 0}}`,
			"stage.sram_blocks is 0, want at least 1, because stage.stateful_alus is 2"},
		{"hash units without bits", `{"base": "small", "stage": {"hash_bits": 0}}`, "stage.hash_bits is 0"},
		{"TCAM without width", `{"base": "small", "stage": {"tcam_bits": 0}}`, "stage.tcam_bits is 0"},
		{"groups without CMUs", `{"base": "small", "flymon": {"cmus": 0}}`,
			"flymon.cmus is 0, want at least 1, because flymon.groups is 5"},
		{"CMUs without groups", `{"base": "small", "flymon": {"groups": 0}}`,
			"flymon.groups is 0, want at least 1, or all of flymon 0"},
		{"buckets too narrow", `{"base": "small", "flymon": {"width": 4}}`, "flymon.width is 4, want 8 to 32"},
		{"a depth that is no power of two", `{"base": "small", "flymon": {"depth": 1000}}`,
			"flymon.depth is 1000, want a power of two, at least 32"},
		{"partitions that do not divide", `{"base": "small", "flymon": {"partitions": 24}}`,
			"flymon.partitions is 24, want a power of two, at most half of flymon.depth, 1024"},
		{"more partitions than buckets", `{"base": "small", "flymon": {"depth": 32, "partitions": 64}}`,
			"flymon.partitions is 64"},
		{"more groups than there can be", `{"base": "rmt20", "flymon": {"spliced": 4}}`,
			"flymon.spliced is 4, want a whole number from 0 to 3"},
		{"spliced groups without a way to them", `{"base": "small", "flymon": {"recirculation_mbps": 0}}`,
			"flymon.recirculation_mbps is 0, want at least 1, because flymon.spliced is 3"},
		{"a buffer that is too small", `{"base": "small", "buffer": {"cells": 1183}}`,
			"buffer.cells is 1183, want at least 1184: 148 for a frame of mtu_bytes, 9416, of each of 8 ports"},
		{"too large a file", strings.Repeat(" ", maxFile+1), "larger than 64 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v\nwant %q", err, tt.want)
			}
		})
	}
	p, err := Parse([]byte(`{"base": "small", "name": "x", "acl": {"entries": 128}}`))
	if want := Small(); err != nil || p.ACL.Entries != 128 || p.ACL.Ranges != want.ACL.Ranges || p.Lanes != want.Lanes ||
		p.Name != "x" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLoadProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(path, []byte(`{"base": "rmt12", "name": "mine", "clock_hz": 1500000000}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(path); err != nil || p.ClockHz != 1_500_000_000 || p.Lanes != 513 {
		t.Errorf("%v: %+v", err, p)
	}
	for name, want := range map[string]string{
		"rmt13":            `profile "rmt13": want one of access48, default, fixed, rmt12, rmt20, small, or a file`,
		path + "x":         "no such file",
		filepath.Dir(path): "is a directory",
	} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// FuzzProfile checks that no text makes Parse panic, and that an accepted profile is read back as it was written.
func FuzzProfile(f *testing.F) {
	small := Small()
	f.Add(small.JSON())
	f.Add([]byte(`{"base": "rmt12", "name": "x", "acl": {"entries": 128}, "default_ports": []}`))
	f.Add([]byte(`{"base": "small", "stage": {"stage": {}}, "speeds_mbps": [1, [], null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.JSON())
		if err != nil || string(again.JSON()) != string(p.JSON()) {
			t.Errorf("%v: written as\n%s", err, p.JSON())
		}
	})
}
