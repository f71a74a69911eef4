package orch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

type noPlace struct{}

func (noPlace) Error() string { return "no place" }
func (noPlace) LacksRoom()    {}

func TestVerdict(t *testing.T) {
	r := swsstest.Start(t)
	d := orch.NewDaemon("d", r, orch.Options{})
	defer d.Close()
	for table, words := range map[string]orch.Words{"PLAIN": {},
		"RULES": {Active: "Active", Pending: "Pending creation", Failed: "Inactive", Again: "there is room"}} {
		d.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, r.DB(swss.ApplDB), table) }, table,
			orch.Each(func(context.Context, orch.Task) error { return nil }),
			orch.Reporting{StateTable: table, Words: words, None: true})
	}
	field := &schema.FieldError{Object: "T|x", Field: "mtu", Value: "0", Want: "a number"}
	for _, tt := range []struct {
		err          error
		plain, rules string
	}{
		{nil, "active: ", "Active: "},
		{fmt.Errorf("made: %w", orch.Wait("port", "Ethernet0", "no port\nEthernet0")), "pending: no port; Ethernet0",
			"Pending creation: no port; Ethernet0"},
		{errors.Join(field, field), `failed: mtu "0": want a number; mtu "0": want a number`,
			`Inactive: mtu "0": want a number; mtu "0": want a number`},
		{fmt.Errorf("create: %w", sai.StatusFailure), "failed: create: the switch failed (SAI_STATUS_FAILURE)",
			"Inactive: create: the switch failed (SAI_STATUS_FAILURE)"},
		{sai.StatusTableFull, "pending: the switch has no room for it (SAI_STATUS_TABLE_FULL)",
			"Pending creation: the switch has no room for it (SAI_STATUS_TABLE_FULL); tried again when there is room"},
		{noPlace{}, "pending: no place", "Pending creation: no place; tried again when there is room"},
		{swss.ErrUnavailable, "pending: " + swss.ErrUnavailable.Error(),
			"Pending creation: " + swss.ErrUnavailable.Error() + "; tried again when there is room"},
	} {
		for table, want := range map[string]string{"PLAIN": tt.plain, "RULES": tt.rules} {
			if status, reason := d.Verdict(table, tt.err); status+": "+reason != want {
				t.Errorf("%s, %v:\n got %s: %s\nwant %s", table, tt.err, status, reason, want)
			}
		}
	}
}
