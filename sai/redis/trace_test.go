package sairedis

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// trace returns the commands of the real libsairedis and syncd.
func trace(t testing.TB) []swsstest.Command {
	t.Helper()
	text := need(os.ReadFile("testdata/redis_sync.txt"))(t)
	return swsstest.ParseMonitor(t, string(text))
}

// An exchange is one request of the trace with its answer: key, fields, op.
type exchange struct{ request, answer []string }

func readTrace(t testing.TB) []exchange {
	t.Helper()
	var list []exchange
	for _, c := range trace(t) {
		switch {
		case c.Args[0] != "EVALSHA" || len(c.Args) != 9:
		case c.Args[3] == requestList:
			list = append(list, exchange{request: c.Args[5:8]})
		default:
			list[len(list)-1].answer = c.Args[5:8]
		}
	}
	return list
}

func address(s string) sai.IP { return sai.IP{Addr: netip.MustParseAddr(s)} }

// sameCalls makes the same calls as the trace's C program.
func sameCalls(ctx context.Context, c *Client) []error {
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	create := func(t sai.ObjectType, a []sai.Attr) sai.OID {
		o, err := c.Create(ctx, t, a)
		do(err)
		return o
	}
	sw := sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)
	do(c.InitView(ctx))
	create(sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true),
		sai.SwitchAttrPortStateChangeNotify, sai.Pointer(0x55d5a8704351),
		sai.SwitchAttrSrcMACAddress, sai.MAC{0xaa, 0, 0, 0, 0, 0x0f}))
	got, err := c.Get(ctx, sw, []sai.Attr{sai.Want(sai.SwitchAttrPortList, 64)})
	do(err)
	ports := got[0].Value.(sai.OIDs)
	_, err = c.Get(ctx, sw, []sai.Attr{sai.Want(sai.SwitchAttrPortList, 4)})
	do(err)
	_, err = c.Get(ctx, sw, []sai.Attr{sai.Want(sai.SwitchAttrAvailableACLTable, 16)})
	do(err)
	// At this point the virtual switch had found 1480 objects of its own.
	do(c.asic.Client().Set(ctx, protocol.KeyVIDCounter, 0x5c8, 0).Err())
	table := create(sai.ObjectTypeACLTable, attrs(
		sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrACLBindPointTypeList, sai.Enums{sai.ACLBindPointTypePort, sai.ACLBindPointTypeRouterInterface},
		sai.ACLTableAttrACLActionTypeList, sai.Enums{sai.ACLActionTypeTAMIntObject},
		sai.ACLTableAttrFieldSrcIP, sai.Bool(true), sai.ACLTableAttrFieldL4DstPort, sai.Bool(true)))
	tam := tamInt()
	first := create(sai.ObjectTypeTAMInt, tam)
	second := create(sai.ObjectTypeTAMInt, append(tam, sai.Attr{ID: sai.TAMIntAttrCollectorList, Value: sai.OIDs{}}))
	_, err = c.Get(ctx, sai.Obj(sai.ObjectTypeTAMInt, second), []sai.Attr{sai.Want(sai.TAMIntAttrCollectorList, 4)})
	do(err)
	counter := create(sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, table,
		sai.ACLCounterAttrEnablePacketCount, sai.Bool(true), sai.ACLCounterAttrLabel, sai.Text(`flow-1.a\b`)))
	span := create(sai.ObjectTypeACLRange, attrs(
		sai.ACLRangeAttrType, sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeAttrLimit, sai.Range{Min: 10, Max: 20}))
	entry := create(sai.ObjectTypeACLEntry, attrs(
		sai.ACLEntryAttrTableID, table,
		sai.ACLEntryAttrPriority, sai.Uint(9),
		sai.ACLEntryAttrFieldSrcIP, sai.Match(address("10.0.0.1"), address("255.255.255.0")),
		sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(53), sai.Uint(0xffff)),
		sai.ACLEntryAttrFieldTCPFlags, sai.Field{},
		sai.ACLEntryAttrFieldACLIPType, sai.Match(sai.ACLIPTypeIPv4Any, sai.Enum(-1)),
		sai.ACLEntryAttrFieldSrcMAC, sai.Match(sai.MAC{0xab}, sai.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		sai.ACLEntryAttrFieldSrcIPv6, sai.Match(address("2000::1"), address("ffff:ffff:ffff:ffff::")),
		sai.ACLEntryAttrFieldInPorts, sai.Match(ports[:2], nil),
		sai.ACLEntryAttrFieldACLRangeType, sai.Match(sai.OIDs{span}, nil),
		sai.ACLEntryAttrActionCounter, sai.Do(counter),
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(first),
		sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true)),
		sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionForward)))
	ek := sai.Obj(sai.ObjectTypeACLEntry, entry)
	do(c.Set(ctx, ek, sai.Attr{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Action{}}))
	_, err = c.Get(ctx, ek, []sai.Attr{sai.Want(sai.ACLEntryAttrActionTAMIntObject, 1)})
	do(err)
	for _, k := range []sai.Key{
		sai.Obj(sai.ObjectTypeTAMInt, first), ek, sai.Obj(sai.ObjectTypeTAMInt, second),
		sai.Obj(sai.ObjectTypeACLRange, span), sai.Obj(sai.ObjectTypeACLCounter, counter),
		sai.Obj(sai.ObjectTypeACLTable, table),
	} {
		do(c.Remove(ctx, k))
	}
	do(c.ApplyView(ctx))
	return errs
}

func tamInt() []sai.Attr {
	return attrs(sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntAttrDeviceID, sai.Uint(7),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(true))
}

// checkErrors expects one overflow among successes.
func checkErrors(t *testing.T, errs []error) {
	t.Helper()
	overflows := 0
	for _, err := range errs {
		switch s, _ := sai.StatusOf(err); s {
		case sai.StatusSuccess:
		case sai.StatusBufferOverflow:
			overflows++
		default:
			t.Errorf("call: %v", err)
		}
	}
	if overflows != 1 {
		t.Errorf("%d overflows, want 1", overflows)
	}
}

// The client sends the same bytes as libsairedis, and decodes the answers of SONiC's syncd.
func TestClientAsLibsairedis(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c := need(NewClient(ctx, r, ClientOptions{}))(t)
		list := readTrace(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			db, answers := r.DB(swss.ASICDB).Client(), swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse)
			for i, x := range list {
				var got []string
				for len(got) < 3 && ctx.Err() == nil {
					got, _ = db.RPopCount(ctx, requestList, 3).Result()
				}
				if strings.Join(got, "\t") != strings.Join(x.request, "\t") {
					t.Errorf("request %d:\ngot  %q\nwant %q", i, got, x.request)
				}
				answers.Push(ctx, entry(x.answer))
			}
		}()
		checkErrors(t, sameCalls(ctx, c))
		cancel()
		<-done
	})
}

// The server answers the same bytes as SONiC's syncd in front of its virtual switch.
func TestServerAsSyncd(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		ctx := context.Background()
		s := NewServer(r, saitest.NewFake(), ServerOptions{})
		db := r.DB(swss.ASICDB).Client()
		for i, x := range readTrace(t) {
			noError(t, s.answer(ctx, swss.Peeked{Entry: entry(x.request)}))
			got, err := db.RPopCount(ctx, responseList, 3).Result()
			if err != nil || strings.Join(got, "\t") != strings.Join(x.answer, "\t") {
				t.Errorf("answer %d to %.100q: %v\ngot  %q\nwant %q", i, x.request, err, got, x.answer)
			}
		}
	})
}

// Client and server together do the same as the trace.
func TestTraceEndToEnd(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		g := newRig(t, r, saitest.NewFake(), ServerOptions{TempView: true})
		checkErrors(t, sameCalls(context.Background(), g.client))
		if left := g.fake.Created(); len(left) > 0 {
			t.Errorf("left in the ASIC: %v", left)
		}
		rows := need(protocol.ReadRows(context.Background(), r.DB(swss.ASICDB), protocol.ASICState))(t)
		for _, row := range rows {
			if strings.Contains(row.Key, "ACL") || strings.Contains(row.Key, "TAM") {
				t.Errorf("left in %s: %v", protocol.ASICState, row)
			}
		}
	})
}
