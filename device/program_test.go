package device

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"tamtam/saisim"
	"tamtam/saisim/pipe"
)

// The example of docs/programs.md gives what the page shows.
func TestProgramsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```json\n")
	block, _, ok := strings.Cut(block, "```")
	if !ok {
		t.Fatal("docs/programs.md has no block of JSON")
	}
	r := Replay{Inputs: []Input{{"Ethernet0", "../cmd/tamtam/demo/client.pcap"}}, Out: t.TempDir()}
	r.Profile = saisim.DefaultProfile()
	if r.Config, err = ReadConfigDB("../cmd/tamtam/demo/config_db.json"); err != nil {
		t.Fatal(err)
	}
	open := func(name string) *os.File {
		f, err := os.Open("../docs/programs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	if r.Program, err = pipe.Read(open("marking.json")); err != nil {
		t.Fatal(err)
	}
	if r.Control, err = ReadControl(open("control.json")); err != nil {
		t.Fatal(err)
	}
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := report.Program
	text, err := json.MarshalIndent(struct {
		Registers map[string]map[string]json.RawMessage         `json:"registers"`
		Counters  map[string]map[string]map[string]pipe.Counter `json:"counters"`
		Batches   []BatchReport                                 `json:"batches"`
	}{p.Registers, p.Counters, p.Batches}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text) + "\n"; got != block {
		t.Errorf("the run gives\n%s\ndocs/programs.md has\n%s", got, block)
	}

	r.Profile.Stage.StatefulALUs = 1
	r.Out = t.TempDir()
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(string(page), err.Error()) {
		t.Errorf("too few stateful ALUs: %v; docs/programs.md has another text", err)
	}
}

// Control steps are read strictly.
func TestReadControl(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`[{"cycle":1,"write":[]}]`, `unknown field "write"`},
		{`[{"cycle":-1}]`, "cannot unmarshal number -1"},
		{`[] []`, "something follows"},
		{`{}`, "cannot unmarshal object"},
	} {
		if _, err := ReadControl(strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.in, err, tt.want)
		}
	}
	steps, err := ReadControl(strings.NewReader(`[{"cycle":7,"unload":true}]`))
	if err != nil || len(steps) != 1 || steps[0].Cycle != 7 || !steps[0].Unload {
		t.Errorf("%+v, %v", steps, err)
	}
}

func FuzzReadControl(f *testing.F) {
	f.Add(`[{"cycle":7,"unload":true,"entries":[{"pipe":"ingress","table":"t","do":"add","entry":{"id":1}}]}]`)
	f.Add(`[{"cycle":7,"writes":[{"pipe":"egress","register":"r","from":4294967295,"count":2}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := ReadControl(strings.NewReader(text))
		if err != nil {
			return
		}
		p := &pipe.Program{Name: "p", Ingress: pipe.Pipe{
			Registers: []pipe.Register{{Name: "r", Width: 8, Depth: 4, Instructions: []pipe.Instruction{{Name: "i"}}}},
			Tables:    []pipe.Table{{Name: "t", Match: "exact", Key: []pipe.Input{{Field: "l4.dst"}}, Size: 4, Counters: true}},
		}}
		prof := saisim.SmallProfile()
		now, err := pipe.Compile(p, prof.Limits(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if n, err := pipe.Prepare(s.Batch, prof.Limits(), now); err == nil {
				if now = n; now != nil {
					now.Access(s.Batch)
				}
			}
		}
	})
}
