package mgmt

import (
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/protobuf/types/known/durationpb"
)

// extensionChecks returns the checks of gNMI's extensions.
func extensionChecks() map[string]func(*bed) {
	return map[string]func(*bed){
		"X1": checkDepth, "X2": checkCommit, "X3": checkArbitration,
		"X4": func(b *bed) {
			for _, e := range []*gnmi_ext.Extension{
				{Ext: &gnmi_ext.Extension_History{History: &gnmi_ext.History{}}},
				{Ext: &gnmi_ext.Extension_ConfigSubscription{ConfigSubscription: &gnmi_ext.ConfigSubscription{}}},
			} {
				exts := []*gnmi_ext.Extension{e}
				b.refused(&gpb.GetRequest{Path: []*gpb.Path{path("/tam")}, Extension: exts}, "Unimplemented", "extension")
				b.refusedSet(&gpb.SetRequest{Update: []*gpb.Update{update(rateA, "1")}, Extension: exts}, "Unimplemented",
					"extension")
			}
		},
	}
}

// ofMaster returns the master-arbitration extension of a client with a role.
func ofMaster(role string, high, low uint64) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{
		MasterArbitration: &gnmi_ext.MasterArbitration{
			Role: &gnmi_ext.Role{Id: role}, ElectionId: &gnmi_ext.Uint128{High: high, Low: low},
		}}}}
}

func ofDepth(level uint32) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Depth{Depth: &gnmi_ext.Depth{Level: level}}}}
}

func checkDepth(b *bed) {
	b.rows(samplers("1", "2"))
	get := func(p string, level uint32) string {
		b.t.Helper()
		return answerText(b.mustGet(&gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: asIETF, Extension: ofDepth(level)}))
	}
	entries := func(content string) string {
		return `/tam/samplers {"openconfig-tam:sampler":[{"name":"a"` + content + `},{"name":"b"` + content + `}]}`
	}
	b.wantText(get("/tam/samplers", 1), "")
	b.wantText(get("/tam/samplers", 2), entries(""))
	b.wantText(get(entryA, 1), entryA+` {"openconfig-tam:name":"a"}`)
	b.wantText(get(entryA+"/config", 1), entryA+`/config {"openconfig-tam:name":"a","openconfig-tam:sampling-rate":1}`)
	b.wantText(get(rateA, 1), rateA+" 1")
	b.wantText(get("/tam/samplers/sampler[name=*]", 1), entryA+` {"openconfig-tam:name":"a"}`+"\n"+entryB+
		` {"openconfig-tam:name":"b"}`)
	b.wantText(get(entryA, 0), answerText(b.ask(asIETF, entryA)))
	b.wantText(get(entryA, 99), answerText(b.ask(asIETF, entryA)))
	list := listOf(onceMode, subOf(0, "/tam/samplers"))
	for level, want := range map[uint32][]string{
		1: {"S"}, 2: {"U " + entryA + `/name "a"`, "U " + entryB + `/name "b"`, "S"},
	} {
		rpc, err := b.client.Subscribe(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		req := &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}, Extension: ofDepth(level)}
		if err := rpc.Send(req); err != nil {
			b.t.Fatal(err)
		}
		(&sub{b.t, rpc}).want(want...)
	}
	b.refusedSet(&gpb.SetRequest{Update: []*gpb.Update{update(rateA, "9")}, Extension: ofDepth(1)}, "InvalidArgument",
		"depth")
	_, err := b.client.Capabilities(b.ctx, &gpb.CapabilityRequest{Extension: ofDepth(1)})
	wantErr(b.t, err, "InvalidArgument", "depth")
	raw := &gpb.Path{Origin: tree.RawOrigin, Elem: path("/CONFIG_DB/localhost/PORT").Elem}
	b.refused(&gpb.GetRequest{Path: []*gpb.Path{raw}, Extension: ofDepth(1)}, "Unimplemented", "depth")
}

func checkCommit(b *bed) {
	k := newKeeper(b.t.(*testing.T))
	set := func(rate string, c *gnmi_ext.Commit) error {
		req := &gpb.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}}
		if rate != "" {
			req.Update = []*gpb.Update{update(rateA, rate)}
		}
		_, err := k.client.Set(k.ctx, req)
		return err
	}
	onTrial := func(id string) *gnmi_ext.Commit {
		ask := &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(time.Minute)}
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: ask}}
	}
	for _, step := range []struct {
		rate, code, then string
		commit           *gnmi_ext.Commit
	}{
		{"1", "OK", "1", onTrial("x")},
		{"2", "FailedPrecondition", "1", onTrial("y")},
		{"", "OK", "1", &gnmi_ext.Commit{Id: "x", Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}}},
		{"2", "OK", "2", onTrial("y")},
		{"", "OK", "1", &gnmi_ext.Commit{Id: "y", Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}}},
		{"3", "OK", "3", onTrial("z")},
	} {
		wantErr(b.t, set(step.rate, step.commit), step.code)
		if got := k.rate("a"); got != "sampling-rate="+step.then {
			b.t.Errorf("%s, want %s", got, step.then)
		}
	}
	k.clock.pass(time.Minute)
	k.eventually("undone", func() bool { return k.rate("a") == "sampling-rate=1" })
	k.server.setting.Lock() // the undo is over once the lock is free
	defer k.server.setting.Unlock()
}

func checkArbitration(b *bed) {
	as := func(exts []*gnmi_ext.Extension, rate string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{update(rateA, rate)}, Extension: exts}
	}
	b.mustSet(as(ofMaster("arbiter", 0, 7), "1"))
	b.mustSet(as(ofMaster("arbiter", 0, 7), "2"))
	b.mustSet(&gpb.SetRequest{Extension: ofMaster("arbiter", 1, 0)}) // 2^64; a new master announces itself
	b.refusedSet(as(ofMaster("arbiter", 0, 8), "3"), "PermissionDenied", `"arbiter"`, "election id 8", "1*2^64+0")
	b.mustSet(as(ofMaster("another role", 0, 1), "4"))
	b.mustSet(as(ofMaster("", 0, 1), "5")) // the empty name is the default role
	b.mustSet(as(nil, "6"))
	none := ofMaster("arbiter", 0, 0)
	none[0].GetMasterArbitration().ElectionId = nil
	b.refusedSet(as(none, "7"), "InvalidArgument", "election_id")
	var a arbiter
	for i := range maxRoles {
		if err := a.elect(strings.Repeat("r", i), electionID{0, 1}); err != nil {
			b.t.Fatal(err)
		}
	}
	wantErr(b.t, a.elect("one more", electionID{0, 1}), "ResourceExhausted", "one more", "256")
}
