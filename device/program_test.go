package device_test

import (
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// Control steps are parsed strictly.
func TestReadControl(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`[{"cycle":1,"write":[]}]`, `unknown field "write"`},
		{`[{"cycle":-1}]`, "cannot unmarshal number -1"},
		{`[] []`, "something follows"},
		{`{}`, "cannot unmarshal object"},
	} {
		if _, err := device.ReadControl(strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.in, err, tt.want)
		}
	}
	steps, err := device.ReadControl(strings.NewReader(`[{"cycle":7,"unload":true}]`))
	if err != nil || len(steps) != 1 || steps[0].Cycle != 7 || !steps[0].Unload {
		t.Errorf("%+v, %v", steps, err)
	}
}

func FuzzReadControl(f *testing.F) {
	f.Add(`[{"cycle":7,"unload":true,"entries":[{"pipe":"ingress","table":"t","do":"add","entry":{"id":1}}]}]`)
	f.Add(`[{"cycle":7,"writes":[{"pipe":"egress","register":"r","from":4294967295,"count":2}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := device.ReadControl(strings.NewReader(text))
		if err != nil {
			return
		}
		p := &pipe.Program{Name: "p", Ingress: pipe.Pipe{
			Registers: []pipe.Register{{Name: "r", Width: 8, Depth: 4, Instructions: []pipe.Instruction{{Name: "i"}}}},
			Tables:    []pipe.Table{{Name: "t", Match: "exact", Key: []pipe.Input{{Field: "l4.dst"}}, Size: 4, Counters: true}},
		}}
		prof := profile.Small()
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
