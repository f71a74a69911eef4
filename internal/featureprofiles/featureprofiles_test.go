package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table, err := parseTable(tests)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.folders) < 30 || len(table.deviations) == 0 {
		t.Errorf("tests.txt has %d folders, %d deviations", len(table.folders), len(table.deviations))
	}
}

func TestWrongTables(t *testing.T) {
	for text, want := range map[string]string{
		"passes TestA":                             `tests.txt:1: "passes TestA": want a line "test FOLDER" before it`,
		"test a\ntest a":                           "tests.txt:2: a is there twice",
		"test a":                                   "a has neither tests nor a reason",
		"test a\npasses TestA\nabsent BGP":         "a has neither tests nor a reason for all of them, or both",
		"test a\npasses TestA/B":                   `passes "TestA/B": want the name of a test`,
		"test a\nedit x":                           `edit "x": want OLD => NEW`,
		"# a table\n\ntest a\nfails TestA: reason": `tests.txt:4: "fails": want deviation`,
	} {
		if _, err := parseTable(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	const text = "test a\npasses TestA\nabsent TestB/two: BGP\nvendor TestC: names\n"
	asTable := map[string]string{"TestA": "PASS", "TestA/one": "PASS", "TestB": "FAIL", "TestB/one": "PASS",
		"TestB/two": "FAIL", "TestB/two/x": "FAIL", "TestC": "SKIP"}
	with := func(changes ...string) map[string]string {
		results := map[string]string{}
		for name, r := range asTable {
			results[name] = r
		}
		for i := 0; i < len(changes); i += 2 {
			results[changes[i]] = changes[i+1]
		}
		return results
	}
	table, err := parseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		results map[string]string
		want    string
	}{
		{"as in the table", asTable, ""},
		{"a test fails", with("TestA", "FAIL", "TestA/one", "FAIL"),
			"TestA passes in tests.txt: FAIL; TestA/one is not in tests.txt: FAIL"},
		{"a test fails beside its subtests", with("TestA", "FAIL"),
			"TestA passes in tests.txt: FAIL; TestA is not in tests.txt: FAIL"},
		{"a subtest fails", with("TestB/one", "FAIL"), "TestB/one is not in tests.txt: FAIL"},
		{"a subtest passes", with("TestB", "PASS", "TestB/two", "PASS", "TestB/two/x", "PASS"),
			"TestB/two does not pass in tests.txt (absent BGP): PASS"},
		{"a test is not run", with("TestC", ""), "TestC does not pass in tests.txt (vendor names): it did not run"},
		{"a test is new", with("TestD", "PASS"), "TestD is not in tests.txt: PASS"},
		{"a test is skipped", with("TestD", "SKIP"), "TestD is not in tests.txt: SKIP"},
	} {
		if c.results["TestC"] == "" {
			delete(c.results, "TestC")
		}
		_, differences := table.folders[0].compare(c.results)
		if got := strings.Join(differences, "; "); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
	found, _ := table.folders[0].compare(asTable)
	if got, want := found.String(), "2 pass, 1 absent, 1 vendor"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseResults(t *testing.T) {
	const said = "=== RUN   TestA\n    --- PASS: TestA/x_y (0.00s)\n--- FAIL: TestA (1.20s)\nlog --- PASS: TestB (0.00s)\n"
	results := parseResults([]byte(said))
	if len(results) != 2 || results["TestA/x_y"] != "PASS" || results["TestA"] != "FAIL" {
		t.Errorf("%v", results)
	}
}

func TestBinding(t *testing.T) {
	dir := t.TempDir()
	testbed := filepath.Join(dir, "two.testbed")
	const text = "duts {\n  id: \"dut\"\n  ports {\n    id: \"port1\"\n  }\n  ports {\n    id: \"port2\"\n  }\n}\n\n" +
		"ates {\n  id: \"ate\"\n  ports {\n    id: \"port1\"\n  }\n}\n"
	if err := os.WriteFile(testbed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	binding := filepath.Join(dir, "binding")
	if err := writeBinding(binding, testbed, "127.0.0.1:9"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(binding)
	if err != nil {
		t.Fatal(err)
	}
	const want = `duts {
  id: "dut"
  name: "dut"
  options { insecure: true }
  vendor: OPENCONFIG
  hardware_model: "tamtam"
  software_version: "1"
  gnmi { target: "127.0.0.1:9" }
  gnoi { target: "127.0.0.1:9" }
  ports { id: "port1" name: "Ethernet0" speed: S_100GB }
  ports { id: "port2" name: "Ethernet4" speed: S_100GB }
}
ates {
  id: "ate"
  name: "ate"
  options { insecure: true }
  otg { target: "127.0.0.1:1" }
  ports { id: "port1" name: "Ethernet0" speed: S_100GB }
}
`
	if string(got) != want {
		t.Errorf("the binding is\n%s", got)
	}
}

func TestEdits(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.go")
	if err := os.WriteFile(source, []byte("x y y"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "edited", "a.go")
	if err := writeEdited(source, to, []replacement{{"y", "z"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "x z z" {
		t.Errorf("%q, %v", got, err)
	}
	if err := writeEdited(source, to, []replacement{{"u", "z"}}); err == nil || !strings.Contains(err.Error(), `no "u"`) {
		t.Errorf("an edit of what is not there: %v", err)
	}
}
