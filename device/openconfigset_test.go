package device_test

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/mgmt"
	"tamtam/saisim/profile"
	"tamtam/swss"
)

// An openConfigured is a switch that is configured at OpenConfig's paths.
type openConfigured struct {
	*routed
	server *mgmt.Server
}

// newOpenConfigured returns a switch with a configuration as JSON.
func newOpenConfigured(t *testing.T, config string) openConfigured {
	c, err := device.ParseConfigDB([]byte(config))
	devicetest.NoError(t, err)
	p := profile.Small()
	p.ACL.MaxPriority = 16000 // as that of large profiles: entry N has the priority 10000-N
	r := &routed{T: t, Sim: devicetest.NewServedSim(t, device.SimConfig{Config: c, Profile: p})}
	devicetest.RunUntilIdle(t, r.Sim)
	r.output()
	server, _, _ := devicetest.StartNorthbound(t, r.Sim)
	return openConfigured{r, server}
}

// set executes a Set of one update, or of one delete if the value is empty.
func (o openConfigured) set(path, value string) {
	o.Helper()
	at, err := ygot.StringToStructuredPath(path)
	devicetest.NoError(o.T, err)
	req := &gpb.SetRequest{Delete: []*gpb.Path{at}}
	if value != "" {
		req = &gpb.SetRequest{Update: []*gpb.Update{{Path: at,
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(value)}}}}}
	}
	if _, err := o.server.Set(o.Context(), req); err != nil {
		o.Fatalf("%s %s: %v", path, value, err)
	}
	devicetest.RunUntilIdle(o.T, o.Sim)
}

// wantOut sends a packet from the host at Ethernet3, and checks where it leaves, as "port 2 MAC > MAC". An empty text
// means that it must not leave.
func (o openConfigured) wantOut(want string) {
	o.Helper()
	outs := o.send(3, ipFrame(o.T, devicetest.HostMAC(0x33), "10.3.0.2", "10.77.0.1", 64, 9))
	got := ""
	for _, f := range outs {
		got += describe(f)
	}
	if !strings.HasPrefix(got, want) || want == "" && got != "" {
		o.Errorf("%q left, want %q", got, want)
	}
}

// A static route, its neighbour and access lists are in the chip when they are set at OpenConfig's paths, and leave it
// when they are deleted.
func TestSetRoutesAndAccessLists(t *testing.T) {
	const (
		route = "/network-instances/network-instance[name=default]/protocols/protocol[identifier=STATIC][name=static]/" +
			"static-routes/static[prefix=10.77.0.0/16]"
		to   = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:"
		port = "/interfaces/interface[name=Ethernet2]/subinterfaces/subinterface[index=0]/ipv4/neighbors/" +
			"neighbor[ip=10.2.0.77]"
	)
	o := newOpenConfigured(t, devicetest.RoutedConfig)
	o.wantOut("")
	o.set(port, `{"ip":"10.2.0.77","config":{"ip":"10.2.0.77","link-layer-address":"02:00:00:00:00:77"}}`)
	o.set(route, `{"prefix":"10.77.0.0/16","config":{"prefix":"10.77.0.0/16"},"next-hops":{"next-hop":[
		{"index":"x","config":{"index":"x","next-hop":"10.2.0.77"}}]}}`)
	o.wantOut(to + "77")
	o.set(route+"/next-hops/next-hop[index=x]/config/next-hop", `"DROP"`)
	o.wantOut("")
	o.set(route+"/next-hops/next-hop[index=x]/config/next-hop", `"10.2.0.2"`)
	o.wantOut(to + "22")

	o.set("/acl", `{"acl-sets":{"acl-set":[{"name":"a","type":"ACL_IPV4","config":{"name":"a","type":"ACL_IPV4"},
		"acl-entries":{"acl-entry":[{"sequence-id":5,"config":{"sequence-id":5},
			"ipv4":{"config":{"source-address":"10.3.0.0/24"}},"actions":{"config":{"forwarding-action":"DROP"}}}]}}]},
		"interfaces":{"interface":[{"id":"Ethernet3","config":{"id":"Ethernet3"},"ingress-acl-sets":{"ingress-acl-set":[
			{"set-name":"a","type":"ACL_IPV4","config":{"set-name":"a","type":"ACL_IPV4"}}]}}]}}`)
	o.wantOut("")
	o.set("/acl/acl-sets/acl-set[name=a][type=ACL_IPV4]/acl-entries/acl-entry[sequence-id=5]/ipv4/config/source-address",
		`"10.4.0.0/24"`)
	o.wantOut(to + "22")
	o.set("/acl/acl-sets/acl-set[name=a][type=ACL_IPV4]/acl-entries/acl-entry[sequence-id=5]/ipv4", "")
	o.wantOut("")
	o.set("/acl/interfaces/interface[id=Ethernet3]", "")
	o.wantOut(to + "22")
	o.set(route, "")
	o.wantOut("")
}

// A queue marks packets once a profile is set at OpenConfig's path. A collector of sFlow is in force.
func TestSetQueueAndCollector(t *testing.T) {
	o := newOpenConfigured(t, strings.Replace(qosConfig, `, "wred_profile": "ecn"`, "", 1))
	q := qosSwitch{o.routed}
	if marked := countTOS(q.race(60, ect0, ect0), ce); marked != 0 {
		t.Errorf("%d frames are marked without a profile", marked)
	}
	const queue = "/qos/interfaces/interface[interface-id=Ethernet3]/output/queues/queue[name=0]/config/"
	o.set(queue+"queue-management-profile", `"ecn"`)
	if marked := countTOS(q.race(60, ect0, ect0), ce); marked < 100 {
		t.Errorf("%d frames are marked with a profile", marked)
	}
	o.set(queue+"queue-management-profile", "")
	if marked := countTOS(q.race(60, ect0, ect0), ce); marked != 0 {
		t.Errorf("%d frames are marked once the profile is gone", marked)
	}
	if row := devicetest.Row(t, o.Redis, swss.ConfigDB, "QUEUE", "Ethernet3|0"); row["scheduler"] != "one" {
		t.Errorf("the scheduler of the queue is gone: %v", row)
	}
	o.set("/sampling/sflow/config/enabled", "true")
	o.set("/sampling/sflow/collectors/collector[address=10.0.0.5][port=7000]",
		`{"address":"10.0.0.5","port":7000,"config":{"address":"10.0.0.5","port":7000}}`)
	if row := devicetest.Row(t, o.Redis, swss.ApplDB, "SFLOW_COLLECTOR_TABLE", "10.0.0.5-7000"); row["collector_port"] !=
		"7000" {
		t.Errorf("the collector is %v", row)
	}
}

// Classes, queues and schedulers are in the chip when they are set at OpenConfig's paths, follow changes, and leave it
// when they are deleted. The state is what the chip does.
func TestSetClassesAndSchedulers(t *testing.T) {
	bare := qosConfig[:strings.Index(qosConfig, `"DSCP_TO_TC_MAP"`)] + `"FLEX_COUNTER_TABLE": {}}`
	o := newOpenConfigured(t, bare)
	q := qosSwitch{o.routed}
	// wantOrder checks how many of the first frames that leave are of DSCP 46, of 60 of it and 60 of another.
	wantOrder := func(dscp uint8, most, least int) {
		t.Helper()
		if n := countTOS(q.race(60, dscp, dscp46)[:60], dscp46); n < least || n > most {
			t.Errorf("%d of the first 60 frames are of DSCP 46, want %d to %d", n, least, most)
		}
	}
	wantOrder(dscp8, 31, 29) // one queue for all

	term := func(family, class, dscp string) string {
		return `{"id":"` + class + `","config":{"id":"` + class + `"},"conditions":{"` + family +
			`":{"config":{"dscp-set":[` + dscp + `]}}},"actions":{"config":{"target-group":"` + class + `"}}}`
	}
	classifier := func(family, dscp string) string {
		name := `"m_` + family + `"`
		return `{"name":` + name + `,"config":{"name":` + name + `,"type":"` + strings.ToUpper(family) +
			`"},"terms":{"term":[` + term(family, "5", dscp) + `,` + term(family, "1", "8") + `]}}`
	}
	inbound := func(port string) string {
		return `{"interface-id":"` + port + `","config":{"interface-id":"` + port + `"},"input":{"classifiers":{"classifier":[
			{"type":"IPV4","config":{"type":"IPV4","name":"m_ipv4"}},
			{"type":"IPV6","config":{"type":"IPV6","name":"m_ipv6"}}]}}}`
	}
	const policy = "/qos/scheduler-policies/scheduler-policy[name=p]/schedulers/scheduler"
	o.set("/qos", `{"classifiers":{"classifier":[`+classifier("ipv4", "46")+`,`+classifier("ipv6", "46")+`]},
		"forwarding-groups":{"forwarding-group":[{"name":"5","config":{"name":"5","output-queue":"3"}},
			{"name":"1","config":{"name":"1","output-queue":"1"}}]},
		"scheduler-policies":{"scheduler-policy":[{"name":"p","config":{"name":"p"},"schedulers":{"scheduler":[
			{"sequence":0,"config":{"sequence":0,"priority":"STRICT"},"inputs":{"input":[{"id":"3","config":{"id":"3",
				"input-type":"QUEUE","queue":"3"}}]}},
			{"sequence":1,"config":{"sequence":1},"inputs":{"input":[{"id":"1","config":{"id":"1","input-type":"QUEUE",
				"queue":"1","weight":1}}]}}]}}]},
		"interfaces":{"interface":[`+inbound("Ethernet0")+`,`+inbound("Ethernet1")+`,{"interface-id":"Ethernet3",
			"config":{"interface-id":"Ethernet3"},"output":{"scheduler-policy":{"config":{"name":"p"}}}}]}}`)
	wantOrder(dscp8, 60, 59)
	for path, want := range map[string]string{
		"/qos/classifiers/classifier[name=m_ipv4]/terms/term[id=5]/conditions/ipv4/state/dscp-set":             "[46]",
		"/qos/forwarding-groups/forwarding-group[name=5]/state/output-queue":                                   `"3"`,
		"/qos/interfaces/interface[interface-id=Ethernet3]/output/scheduler-policy/state/name":                 `"p"`,
		"/qos/interfaces/interface[interface-id=Ethernet1]/input/classifiers/classifier[type=IPV6]/state/name": `"m_ipv6"`,
		policy + "[sequence=1]/inputs/input[id=1]/state/weight":                                                `"1"`,
	} {
		if got := o.get(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	// The class has a queue with three times the weight of the other.
	o.set("/qos/forwarding-groups/forwarding-group[name=5]/config/output-queue", `"2"`)
	o.set(policy+"[sequence=1]/inputs/input[id=2]", `{"id":"2","config":{"id":"2","weight":3}}`)
	wantOrder(dscp8, 46, 43)
	o.set(policy+"[sequence=1]/inputs/input[id=2]/config/weight", "1")
	wantOrder(dscp8, 31, 29)

	o.set("/qos/interfaces/interface[interface-id=Ethernet3]/output/scheduler-policy", "")
	o.set("/qos/interfaces", "")
	o.set("/qos/classifiers", "")
	o.set("/qos/scheduler-policies", "")
	o.set("/qos/forwarding-groups", "")
	for _, table := range []string{"QUEUE", "SCHEDULER", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "PORT_QOS_MAP"} {
		keys, err := o.Redis.DB(swss.ConfigDB).Client().Keys(t.Context(), table+"|*").Result()
		if err != nil || len(keys) > 0 {
			t.Errorf("rows %v, %v are left", keys, err)
		}
	}
	wantOrder(dscp8, 31, 29)
}

// get returns the value at a path, as JSON.
func (o openConfigured) get(path string) string {
	o.Helper()
	at, err := ygot.StringToStructuredPath(path)
	devicetest.NoError(o.T, err)
	resp, err := o.server.Get(o.Context(), &gpb.GetRequest{Path: []*gpb.Path{at}, Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		o.Fatal(err)
	}
	return string(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
}
