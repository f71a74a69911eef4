package daemons

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tamtam/host/cpuport"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// cpuChip returns a chip with a port Ethernet0 that is up.
func cpuChip(t *testing.T) *saisim.Chip {
	t.Helper()
	chip, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	sw, err := chip.Create(ctx, sai.ObjectTypeSwitch, []sai.Attr{{ID: sai.SwitchAttrInitSwitch, Value: sai.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := chip.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, sw), []sai.Attr{sai.Want(sai.SwitchAttrPortList, 64)})
	if err != nil {
		t.Fatal(err)
	}
	port := got[0].Value.(sai.OIDs)[0]
	if err := chip.Set(ctx, sai.Obj(sai.ObjectTypePort, port), sai.Attr{ID: sai.PortAttrAdminState,
		Value: sai.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := chip.Create(ctx, sai.ObjectTypeHostif, []sai.Attr{
		{ID: sai.HostifAttrType, Value: sai.HostifTypeNetdev}, {ID: sai.HostifAttrObjID, Value: port},
		{ID: sai.HostifAttrName, Value: sai.Text("Ethernet0")},
	}); err != nil {
		t.Fatal(err)
	}
	return chip
}

// A frame that the live chip punts reaches a client with the names of its port and trap. A frame that the client
// sends leaves immediately although the chip is idle, and one for an unknown port is rejected by name.
func TestCPUPortOfALiveChip(t *testing.T) {
	chip, hub := cpuChip(t), cpuport.New()
	line, err := hub.Attach("a test")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan saisim.PortID, 1)
	chip.SetObserver(func(m saisim.Moment) {
		if m.What == saisim.MomentSent {
			sent <- m.Port
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		ended <- runWires(ctx, r, chip, time.Now(), ChipConfig{}, newCPUSide(chip, hub, nil),
			newStreaming(chip, nil, slog.Default()), Common{})
	}()

	frame := bytes.Repeat([]byte{2}, 60)
	if err := line.Send(cpuport.Frame{Port: "Ethernet0", Data: frame}); err != nil {
		t.Fatal(err)
	}
	if port := <-sent; port != 0 {
		t.Errorf("left at port %d", port)
	}
	lldp := append([]byte{1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, 1, 0x88, 0xcc}, make([]byte, 46)...)
	for err = errors.New("not yet"); err != nil; { // meanwhile time advances
		err = chip.Receive(0, chip.Now()+1000, saisim.Frame{Data: lldp})
	}
	p, err := line.Receive(ctx)
	if err != nil || p.Port != "Ethernet0" || p.Trap != "lldp" || p.VLAN != 1 || !bytes.Equal(p.Data, lldp) ||
		p.Len != 60 {
		t.Errorf("received %+v, %v", p, err)
	}
	for want, f := range map[string]cpuport.Frame{
		"no port Ethernet99": {Port: "Ethernet99", Data: frame}, "no VLAN 7": {VLAN: 7, Data: frame},
	} {
		if err := line.Send(f); err != nil {
			t.Fatal(err)
		}
		var refused *cpuport.Refusal
		if _, err := line.Receive(ctx); !errors.As(err, &refused) || !strings.Contains(refused.Reason, want) {
			t.Errorf("received %v, want a refusal with %q", err, want)
		}
	}
	if n := hub.Counts(); n.Sent != 1 || n.Refused != 2 || n.Punted != 1 {
		t.Errorf("counts %+v", n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
