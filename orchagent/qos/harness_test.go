package qos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// bench is an Orch on a fake ASIC with two ports of eight queues.
type bench struct {
	*orchtest.Bench
	ports *orchtest.Ports
	orch  *Orch
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 2, Queues: 8, Groups: 8})}
	_, ports := b.CreateSwitch()
	b.ports = orchtest.NewPorts(ports)
	var err error
	b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Poller: b.Poller})
	if err != nil {
		t.Fatal(err)
	}
	b.ports.Changed(b.Ctx, b.ports.Names()...)
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Step()
	b.Rec.Reset()
	return b
}

// do applies lines. "TABLE:key field=value ..." sets a row of APPL_DB and "-TABLE:key" deletes it. "port+ name" adds a
// port and "port- name" removes it.
func (b *bench) do(lines ...string) {
	b.T.Helper()
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "port"); ok {
			b.ports.Turn(b.Ctx, name[2:], name[0] == '+')
			continue
		}
		b.Write(line)
	}
	b.Step()
}

// statuses returns the status of each existing row.
func (b *bench) statuses() []string {
	var list []string
	for k := range b.orch.ledger.Rows {
		row := k.Table + "|" + schema.ConfigKey(k.Key)
		list = append(list, row+" "+b.Status(row))
	}
	slices.Sort(list)
	return list
}

// asic returns the state of the ASIC as text without object ids.
func (b *bench) asic() []string {
	var list []string
	names := map[sai.OID]string{}
	for k, obj := range b.orch.objects {
		names[obj.key.OID] = k.Table + ":" + k.Key
	}
	for _, k := range b.Fake.Created() {
		line := k.Type.String()
		for _, a := range b.Fake.Attrs(k) {
			if oid, ok := a.Value.(sai.OID); ok {
				line += " " + a.ID.String() + "=" + names[oid]
				continue
			}
			text, err := sai.FormatValue(a.ID, a.Value)
			if err != nil {
				b.T.Fatal(err)
			}
			line += " " + a.ID.String() + "=" + text
		}
		list = append(list, line)
	}
	uses := []sai.AttrID{
		sai.PortAttrQoSDSCPToTCMap, sai.PortAttrQoSDot1pToTCMap, sai.PortAttrQoSTCToQueueMap,
		sai.PortAttrQoSTCAndColorToDSCPMap, sai.PortAttrQoSIngressBufferProfileList,
		sai.PortAttrQoSEgressBufferProfileList, sai.PortAttrQoSTCToPriorityGroupMap,
		sai.PortAttrQoSPfcPriorityToPriorityGroupMap,
		sai.PortAttrQoSPfcPriorityToQueueMap, sai.PortAttrQoSSchedulerProfileID,
		sai.QueueAttrSchedulerProfileID, sai.QueueAttrWREDProfileID, sai.QueueAttrBufferProfileID,
		sai.IngressPriorityGroupAttrBufferProfile,
	}
	for name, oid := range b.ports.All {
		keys := map[string]sai.Key{name: sai.Obj(sai.ObjectTypePort, oid)}
		for i, q := range b.Attr(keys[name], sai.PortAttrQoSQueueList).(sai.OIDs) {
			keys[fmt.Sprint(name, ":", i)] = sai.Obj(sai.ObjectTypeQueue, q)
		}
		for i, pg := range b.Attr(keys[name], sai.PortAttrIngressPriorityGroupList).(sai.OIDs) {
			keys[fmt.Sprint(name, ":group", i)] = sai.Obj(sai.ObjectTypeIngressPriorityGroup, pg)
		}
		if bits := b.Attr(keys[name], sai.PortAttrPriorityFlowControl); bits != sai.Uint(0) {
			list = append(list, fmt.Sprint(name, " ", sai.PortAttrPriorityFlowControl, "=", bits))
		}
		for what, k := range keys {
			for _, id := range uses {
				if id.ObjectType() != k.Type {
					continue
				}
				switch to := b.Attr(k, id).(type) {
				case sai.OIDs:
					for _, oid := range to {
						list = append(list, fmt.Sprint(what, " ", id, "=", names[oid]))
					}
				case sai.OID:
					if to != sai.NullOID {
						list = append(list, fmt.Sprint(what, " ", id, "=", names[to]))
					}
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
