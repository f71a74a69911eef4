package sairedis

import (
	"context"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// A raw is a request that any client can write into ASIC_DB.
type raw struct {
	name            string
	key, body, code string
	want            string // status
}

const (
	rawTable   = "SAI_OBJECT_TYPE_ACL_TABLE:oid:0x7000000001001"
	rawCounter = "SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x9000000001002"
	rawTAM     = "SAI_OBJECT_TYPE_TAM_INT:oid:0x53000000001003"
	rawEntry   = "SAI_OBJECT_TYPE_ACL_ENTRY:oid:0x8000000001004"
	rawSwitch  = "SAI_OBJECT_TYPE_SWITCH:oid:0x21000000000000"
	rawTAMBody = `"SAI_TAM_INT_ATTR_TYPE","SAI_TAM_INT_TYPE_IFA1_TAILSTAMP","SAI_TAM_INT_ATTR_DEVICE_ID","7",` +
		`"SAI_TAM_INT_ATTR_INT_PRESENCE_TYPE","SAI_TAM_INT_PRESENCE_TYPE_UNDEFINED","SAI_TAM_INT_ATTR_INLINE","true"`
)

// raws holds the answers of a stock syncd with a virtual switch, and requests that stopped it. They run in order, on
// one server.
var raws = []raw{
	{"nothing works before the switch", rawTable, `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, "Screate",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"create switch", rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate", "SAI_STATUS_SUCCESS"},
	{"second switch", rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate", "SAI_STATUS_FAILURE"},

	{"table without stage", rawTable, `["NULL","NULL"]`, "Screate", "SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"table", rawTable, `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, "Screate", "SAI_STATUS_SUCCESS"},
	{"the same virtual id again", rawTable, `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, "Screate",
		"SAI_STATUS_ITEM_ALREADY_EXISTS"},
	{"entry without table", rawEntry, `["SAI_ACL_ENTRY_ATTR_PRIORITY","1"]`, "Screate",
		"SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"range without limit", "SAI_OBJECT_TYPE_ACL_RANGE:oid:0xa000000001005",
		`["SAI_ACL_RANGE_ATTR_TYPE","SAI_ACL_RANGE_TYPE_L4_SRC_PORT_RANGE"]`, "Screate",
		"SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"range upside down", "SAI_OBJECT_TYPE_ACL_RANGE:oid:0xa000000001005",
		`["SAI_ACL_RANGE_ATTR_TYPE","SAI_ACL_RANGE_TYPE_L4_SRC_PORT_RANGE","SAI_ACL_RANGE_ATTR_LIMIT","20,10"]`, "Screate",
		"SAI_STATUS_INVALID_ATTR_VALUE_1"},
	{"collector without transport", "SAI_OBJECT_TYPE_TAM_COLLECTOR:oid:0x4e000000001006",
		`["SAI_TAM_COLLECTOR_ATTR_SRC_IP","1.1.1.1","SAI_TAM_COLLECTOR_ATTR_DST_IP","1.1.1.2"]`, "Screate",
		"SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"sampling report without rate", "SAI_OBJECT_TYPE_TAM_REPORT:oid:0x49000000001007",
		`["SAI_TAM_REPORT_ATTR_TYPE","SAI_TAM_REPORT_TYPE_IPFIX","SAI_TAM_REPORT_ATTR_REPORT_MODE",` +
			`"SAI_TAM_REPORT_MODE_SAMPLING"]`, "Screate", "SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"TAM_INT with type alone", rawTAM, `["SAI_TAM_INT_ATTR_TYPE","SAI_TAM_INT_TYPE_IFA1_TAILSTAMP"]`, "Screate",
		"SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING"},
	{"conditional attribute without its condition", rawTAM, "[" + rawTAMBody +
		`,"SAI_TAM_INT_ATTR_INT_PRESENCE_DSCP_VALUE","1"]`, "Screate", "SAI_STATUS_INVALID_ATTR_VALUE_4"},
	{"attribute twice", rawTAM, "[" + rawTAMBody + `,"SAI_TAM_INT_ATTR_DEVICE_ID","7"]`, "Screate",
		"SAI_STATUS_INVALID_ATTR_VALUE_1"},
	{"attribute of no effect (validonly)", rawTAM, "[" + rawTAMBody + `,"SAI_TAM_INT_ATTR_TRACE_VECTOR","1"]`, "Screate",
		"SAI_STATUS_SUCCESS"},
	{"enum number of no value", "SAI_OBJECT_TYPE_TAM_REPORT:oid:0x49000000001008",
		`["SAI_TAM_REPORT_ATTR_TYPE","268435456"]`, "Screate", "SAI_STATUS_INVALID_ATTR_VALUE_0"},
	{"enum number of a value", "SAI_OBJECT_TYPE_TAM_REPORT:oid:0x49000000001009", `["SAI_TAM_REPORT_ATTR_TYPE","1"]`,
		"Screate", "SAI_STATUS_SUCCESS"},
	{"object of the wrong type", rawCounter, `["SAI_ACL_COUNTER_ATTR_TABLE_ID","oid:0x53000000001003"]`, "Screate",
		"SAI_STATUS_INVALID_ATTR_VALUE_0"},
	{"counter", rawCounter,
		`["SAI_ACL_COUNTER_ATTR_TABLE_ID","oid:0x7000000001001","SAI_ACL_COUNTER_ATTR_LABEL","am-flow-1"]`, "Screate",
		"SAI_STATUS_SUCCESS"},
	{"set of a create-only attribute", rawTAM, `["SAI_TAM_INT_ATTR_DEVICE_ID","8"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"entry; a field that the table does not have; a mask left out", rawEntry,
		`["SAI_ACL_ENTRY_ATTR_TABLE_ID","oid:0x7000000001001","SAI_ACL_ENTRY_ATTR_FIELD_TTL","10",` +
			`"SAI_ACL_ENTRY_ATTR_ACTION_COUNTER","oid:0x9000000001002","SAI_ACL_ENTRY_ATTR_ACTION_TAM_INT_OBJECT",` +
			`"oid:0x53000000001003"]`, "Screate", "SAI_STATUS_SUCCESS"},
	{"remove TAM_INT in use", rawTAM, "{}", "Dremove", "SAI_STATUS_OBJECT_IN_USE"},
	{"remove table in use", rawTable, "{}", "Dremove", "SAI_STATUS_OBJECT_IN_USE"},
	{"remove counter in use", rawCounter, "{}", "Dremove", "SAI_STATUS_OBJECT_IN_USE"},
	{"empty mandatory list", "SAI_OBJECT_TYPE_TAM_TELEMETRY:oid:0x4d000000001010",
		`["SAI_TAM_TELEMETRY_ATTR_COLLECTOR_LIST","0:null"]`, "Screate", "SAI_STATUS_SUCCESS"},
	{"get with resource list of no items", rawSwitch,
		`["SAI_SWITCH_ATTR_AVAILABLE_ACL_TABLE","{\"count\":256,\"list\":null}"]`, "Sget", "SAI_STATUS_INVALID_PARAMETER"},
	{"bulk with one bad of three", "SAI_OBJECT_TYPE_ACL_COUNTER:3",
		`["oid:0x9000000001011","SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x7000000001001","oid:0x9000000001012","NULL=NULL",` +
			`"oid:0x9000000001013","SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x7000000001001"]`, "Sbulkcreate", "SAI_STATUS_FAILURE"},
	{"bulk remove of the two good ones", "SAI_OBJECT_TYPE_ACL_COUNTER:2",
		`["oid:0x9000000001011","","oid:0x9000000001013",""]`, "Sbulkremove", "SAI_STATUS_SUCCESS"},
	{"bulk get", "SAI_OBJECT_TYPE_ACL_COUNTER:1", `["oid:0x9000000001002","SAI_ACL_COUNTER_ATTR_PACKETS=0"]`, "Sbulkget",
		"SAI_STATUS_SUCCESS"},

	// Requests that stop SONiC's syncd.
	{"attribute of a newer SAI", rawTable, `["SAI_ACL_TABLE_ATTR_NO_SUCH","1"]`, "Sset",
		"SAI_STATUS_ATTR_NOT_SUPPORTED_0"},
	{"get of a known and a newer attribute", rawSwitch,
		`["SAI_SWITCH_ATTR_PORT_LIST","1:oid:0x0","SAI_SWITCH_ATTR_NO_SUCH","0"]`, "Sget", "SAI_STATUS_ATTR_NOT_SUPPORTED_1"},
	{"attribute of another type", rawTable, `["SAI_PORT_ATTR_MTU","1"]`, "Sset", "SAI_STATUS_FAILURE"},
	{"statistic of a newer SAI", rawSwitch, `["SAI_SWITCH_STAT_NO_SUCH",""]`, "Sget_stats", "SAI_STATUS_NOT_SUPPORTED"},
	{"bulk of a newer type", "SAI_OBJECT_TYPE_NO_SUCH:0", `[]`, "Sbulkcreate", "SAI_STATUS_NOT_SUPPORTED"},
	{"query of a type without metadata", "oid:0x21000000000000",
		`["OBJECT_TYPE","SAI_OBJECT_TYPE_BFD_SESSION","ATTR_ID","SAI_BFD_SESSION_ATTR_TYPE"]`,
		"Sattribute_capability_query", "SAI_STATUS_NOT_SUPPORTED"},
	{"query of an attribute of a newer SAI", "oid:0x21000000000000",
		`["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","ATTR_ID","SAI_PORT_ATTR_NO_SUCH"]`, "Sattribute_capability_query",
		"SAI_STATUS_NOT_SUPPORTED"},
	{"query of an attribute of another type", "oid:0x21000000000000",
		`["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","ATTR_ID","SAI_SWITCH_ATTR_PORT_LIST"]`, "Sattribute_capability_query",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"values of an attribute of a newer SAI", "oid:0x21000000000000",
		`["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","ATTR_ID","SAI_PORT_ATTR_NO_SUCH","LIST_SIZE","8"]`,
		"Sattr_enum_values_capability_query", "SAI_STATUS_NOT_SUPPORTED"},
	{"availability of a type without metadata", "oid:0x21000000000000", `["OBJECT_TYPE","SAI_OBJECT_TYPE_MY_SID_ENTRY"]`,
		"Sobject_type_get_availability_query", "SAI_STATUS_NOT_SUPPORTED"},
	{"query of no type", "oid:0x21000000000000", `["OBJECT_TYPE","PORT","ATTR_ID","SAI_PORT_ATTR_MTU"]`,
		"Sattribute_capability_query", "SAI_STATUS_INVALID_PARAMETER"},
	{"unknown object type", "SAI_OBJECT_TYPE_NO_SUCH:oid:0x1", `["NULL","NULL"]`, "Screate",
		"SAI_STATUS_INVALID_OBJECT_TYPE"},
	{"object type without metadata", "SAI_OBJECT_TYPE_STP:oid:0x10000000001100", `["NULL","NULL"]`, "Screate",
		"SAI_STATUS_NOT_SUPPORTED"},
	{"unknown object as key", "SAI_OBJECT_TYPE_ACL_ENTRY:oid:0x8000000009999", `["SAI_ACL_ENTRY_ATTR_PRIORITY","1"]`,
		"Sset", "SAI_STATUS_INVALID_OBJECT_ID"},
	{"null object as key", "SAI_OBJECT_TYPE_ACL_ENTRY:oid:0x0", `["SAI_ACL_ENTRY_ATTR_PRIORITY","1"]`, "Sset",
		"SAI_STATUS_INVALID_OBJECT_ID"},
	{"unknown object in an attribute", rawEntry, `["SAI_ACL_ENTRY_ATTR_ACTION_COUNTER","oid:0x9000000009999"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"address without mask", rawEntry, `["SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP","10.0.0.1"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"hexadecimal number", rawEntry, `["SAI_ACL_ENTRY_ATTR_PRIORITY","0x7"]`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"unknown enum word", rawEntry, `["SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION","SAI_PACKET_ACTION_EAT"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"bool that is none", rawEntry, `["SAI_ACL_ENTRY_ATTR_ADMIN_STATE","yes"]`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"list count that is wrong", rawEntry, `["SAI_ACL_ENTRY_ATTR_FIELD_IN_PORTS","2:oid:0x1000000000002"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"huge list count", rawSwitch, `["SAI_SWITCH_ATTR_PORT_LIST","4000000000:oid:0x0"]`, "Sget",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"unknown operation", rawEntry, `[]`, "Sfrobnicate", "SAI_STATUS_NOT_SUPPORTED"},
	{"operation without letter", rawEntry, `[]`, "x", "SAI_STATUS_INVALID_PARAMETER"},
	{"malformed JSON", rawEntry, `["SAI`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"odd JSON", rawEntry, `["a","b","c"]`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"JSON of numbers", rawEntry, `[1,2]`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"set of nothing", rawEntry, `[]`, "Sset", "SAI_STATUS_INVALID_PARAMETER"},
	{"set of two", rawEntry, `["SAI_ACL_ENTRY_ATTR_PRIORITY","1","SAI_ACL_ENTRY_ATTR_ADMIN_STATE","true"]`, "Sset",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"remove switch", rawSwitch, "{}", "Dremove", "SAI_STATUS_NOT_IMPLEMENTED"},
	{"start_poll of an unknown object", "ACL_STAT_COUNTER:oid:0x9000000009999",
		`["ACL_COUNTER_ATTR_ID_LIST","SAI_ACL_COUNTER_ATTR_PACKETS"]`, "Sstart_poll", "SAI_STATUS_INVALID_OBJECT_ID"},
	{"get with no room", rawSwitch, `["SAI_SWITCH_ATTR_PORT_LIST","0:null"]`, "Sget", "SAI_STATUS_BUFFER_OVERFLOW"},
	{"unknown notify", "DANCE", "[]", "Snotify", "SAI_STATUS_INVALID_PARAMETER"},
	{"bulk with a wrong count", "SAI_OBJECT_TYPE_ACL_COUNTER:7", `["oid:0x9000000001011",""]`, "Sbulkremove",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"bulk attribute without =", "SAI_OBJECT_TYPE_ACL_COUNTER:1", `["oid:0x9000000001011","x"]`, "Sbulkcreate",
		"SAI_STATUS_FAILURE"},
	{"plain text where JSON travels as bytes", "SAI_OBJECT_TYPE_GENERIC_PROGRAMMABLE:oid:0x66000000001020",
		`["SAI_GENERIC_PROGRAMMABLE_ATTR_OBJECT_NAME","1:97","SAI_GENERIC_PROGRAMMABLE_ATTR_ENTRY","{\"a\":1}"]`, "Screate",
		"SAI_STATUS_INVALID_PARAMETER"},
	{"still alive", rawEntry, `["SAI_ACL_ENTRY_ATTR_FIELD_TTL","disabled"]`, "Sget", "SAI_STATUS_SUCCESS"},
}

func TestServerStatuses(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	s := NewServer(r, saitest.NewFake(), ServerOptions{})
	db := r.DB(swss.ASICDB).Client()
	for _, q := range raws {
		noError(t, s.answer(ctx, swss.Peeked{Entry: swss.Entry{Key: q.key, Body: q.body, Op: q.code}}))
		got, err := db.RPopCount(ctx, responseList, 3).Result()
		if err != nil || got[0] != q.want {
			t.Errorf("%s: answer %q, %v; want %s", q.name, got, err, q.want)
		}
		if q.name == "still alive" && !strings.Contains(got[1], "10&mask:0x0") {
			t.Errorf("a number without mask is read back as %s, want 10&mask:0x0", got[1])
		}
	}
}

// An incomplete request (a stray LPUSH) is answered, and the server continues.
func TestServerHalfRequest(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	s := NewServer(r, saitest.NewFake(), ServerOptions{})
	db := r.DB(swss.ASICDB).Client()
	noError(t, s.Load(ctx))
	db.LPush(ctx, requestList, "stray", "words")
	noError(t, s.drain(ctx))
	got, err := db.RPopCount(ctx, responseList, 3).Result()
	if err != nil || got[0] != "SAI_STATUS_FAILURE" {
		t.Errorf("answer %q, %v", got, err)
	}
}

// The client refuses requests that would stop a stock syncd: nothing is sent.
func TestClientSendsNothingFatal(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, saitest.NewFake(), ServerOptions{})
	g.createSwitch()
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	g.stop() // all requests from now on stay in the queue
	k := sai.Obj(sai.ObjectTypeACLTable, table)
	entry := func(pairs ...any) error {
		_, err := g.client.Create(ctx, sai.ObjectTypeACLEntry, attrs(append(pairs, sai.ACLEntryAttrTableID, table)...))
		return err
	}
	for name, err := range map[string]error{
		"remove switch": g.client.Remove(ctx, sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)),
		"unknown attribute": g.client.Set(ctx, k, sai.Attr{ID: sai.AttrID(uint64(sai.ObjectTypeACLTable)<<32 | 0x7777),
			Value: sai.Bool(true)}),
		"unknown object": g.client.Set(ctx, sai.Obj(sai.ObjectTypeACLEntry, 0x8000000009999),
			sai.Attr{ID: sai.ACLEntryAttrPriority, Value: sai.Uint(1)}),
		"object in value": entry(sai.ACLEntryAttrActionCounter, sai.Do(sai.OID(0x9000000009999))),
		"no mask":         entry(sai.ACLEntryAttrFieldSrcIP, sai.Match(address("10.0.0.1"), nil)),
		"mask left out":   entry(sai.ACLEntryAttrFieldTTL, sai.Match(sai.Uint(1), nil)),
		"wrong Go type":   entry(sai.ACLEntryAttrPriority, sai.Bool(true)),
		"too wide":        entry(sai.ACLEntryAttrFieldTTL, sai.Match(sai.Uint(256), sai.Uint(255))),
		"nil value":       entry(sai.ACLEntryAttrPriority, sai.Value(sai.Text("x"))),
		"long label": func() error {
			_, err := g.client.Create(ctx, sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, table,
				sai.ACLCounterAttrLabel, sai.Text(strings.Repeat("x", 33))))
			return err
		}(),
		"no room": func() error {
			_, err := g.client.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID),
				[]sai.Attr{sai.Want(sai.SwitchAttrPortList, 0)})
			return err
		}(),
		"start_poll of an unknown object": g.client.StartPoll(ctx, "G", flex.FieldACLCounters,
			[]string{"SAI_ACL_COUNTER_ATTR_PACKETS"}, 0x9000000009999),
		"enum of no value": entry(sai.ACLEntryAttrActionPacketAction, sai.Do(sai.Enum(12345))),
	} {
		if s, ok := sai.StatusOf(err); !ok || s == sai.StatusSuccess {
			t.Errorf("%s: %v, want a status", name, err)
		}
	}
	if n := r.DB(swss.ASICDB).Client().LLen(ctx, requestList).Val(); n != 0 {
		t.Errorf("%d elements were sent", n)
	}
}

// A missing answer leaves the state of the ASIC unknown, for good.
func TestClientTimeout(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	// from an earlier client
	r.DB(swss.ASICDB).Client().LPush(ctx, responseList, "SAI_STATUS_SUCCESS", "[]", "Sgetresponse")
	c, err := NewClient(ctx, r, ClientOptions{Timeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = c.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
		if _, ok := sai.StatusOf(err); ok || err == nil || !strings.Contains(err.Error(), "unknown") {
			t.Errorf("error %v, want one without status that says that the state is unknown", err)
		}
	}
	if n := r.DB(swss.ASICDB).Client().LLen(ctx, requestList).Val(); n != 3 {
		t.Errorf("%d elements in the queue, want one request: after a time-out nothing more is sent", n)
	}
}

// Answers of another kind are skipped, and so are those that arrive with the right one.
func TestClientSkipsForeignAnswers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := swsstest.Start(t)
	c := need(NewClient(ctx, r, ClientOptions{}))(t)
	defer c.Close()
	answers := swss.NewQueue(r.DB(swss.ASICDB), protocol.GetResponse)
	push := func(status, op string) { answers.Push(ctx, swss.Entry{Key: status, Body: "[]", Op: op}) }
	requests := slowly(ctx, r)
	go func() {
		for range requests {
			push("SAI_STATUS_FAILURE", "Sflushresponse")
			push("SAI_STATUS_SUCCESS", "Snotify")
			push("SAI_STATUS_FAILURE", "Snotify")
		}
	}()
	if err := c.InitView(ctx); err != nil {
		t.Error(err)
	}
}

// A key of another type in the place of a row affects only that row.
func TestServerStrangeKey(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	s := NewServer(r, saitest.NewFake(), ServerOptions{})
	db := r.DB(swss.ASICDB).Client()
	db.Set(ctx, "ASIC_STATE:"+rawTable, "strange", 0)
	for _, q := range [][]string{
		{rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate"},
		{rawTable, `["SAI_ACL_TABLE_ATTR_ACL_STAGE","SAI_ACL_STAGE_INGRESS"]`, "Screate"},
		{rawTable, `{}`, "Dremove"},
	} {
		noError(t, s.answer(ctx, swss.Peeked{Entry: entry(q)}))
		got, err := db.RPopCount(ctx, responseList, 3).Result()
		if err != nil || got[0] != "SAI_STATUS_SUCCESS" {
			t.Errorf("answer %q, %v", got, err)
		}
	}
	if n := db.LLen(ctx, responseList).Val(); n != 0 {
		t.Errorf("%d elements too many", n)
	}
}
