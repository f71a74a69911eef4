package qos

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// OpenConfig's words.
const (
	ipv4           = "IPV4"
	ipv6           = "IPV6"
	inputQueue     = "QUEUE"
	strictSequence = "0"
	otherSequence  = "1"
)

// suffixes maps the versions of IP to the ends of the names of classifiers.
var suffixes = map[string]string{ipv4: "_ipv4", ipv6: "_ipv6"}

// mapOf returns the row and the version of IP of a classifier. ok is false if no classifier can have the name.
func mapOf(classifier string) (name, kind string, ok bool) {
	for kind, suffix := range suffixes {
		if name, is := strings.CutSuffix(classifier, suffix); is && schema.ValidName(name) {
			return name, kind, true
		}
	}
	return "", "", false
}

// entry returns the fields of an entry as JSON; pairs alternates between names and values.
func entry(pairs ...string) string {
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	return encode(fields)
}

func encode(fields map[string]string) string {
	text, err := json.Marshal(fields)
	if err != nil {
		return "{}" // cannot happen: strings can be encoded
	}
	return string(text)
}

// decoded returns rows that were combined, by their keys in the form of CONFIG_DB.
func decoded(rows map[string]string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for key, text := range rows {
		out[schema.ConfigKey(key)] = tree.JSONFields(text)
	}
	return out
}

// readMaps returns the valid rows of a table of maps, by name.
func readMaps(table string, rows map[string]map[string]string) map[string]schema.QoSMap {
	out := map[string]schema.QoSMap{}
	for name, fields := range rows {
		if m, err := schema.ParseQoSMap(table, name, kit.WithoutNull(fields)); err == nil {
			out[name] = m
		}
	}
	return out
}

func classifiers(rows map[string]string) map[string]string {
	out := map[string]string{}
	for name := range readMaps(schema.CfgDSCPToTC, decoded(rows)) {
		for kind, suffix := range suffixes {
			out[name+suffix] = entry("type", kind)
		}
	}
	return out
}

func terms(rows map[string]string) map[string]string {
	out := map[string]string{}
	for name, m := range readMaps(schema.CfgDSCPToTC, decoded(rows)) {
		for class, dscps := range dscpsByClass(m) {
			for kind, suffix := range suffixes {
				out[name+suffix+" "+class] = entry("type", kind, "dscp", strings.Join(dscps, ","))
			}
		}
	}
	return out
}

// dscpsByClass returns the values of DSCP that a map names, by class, in order.
func dscpsByClass(m schema.QoSMap) map[string][]string {
	out := map[string][]string{}
	for _, p := range m.Pairs {
		class := number(p.To)
		out[class] = append(out[class], number(p.From))
	}
	return out
}

func number(n uint8) string { return strconv.Itoa(int(n)) }

// isNumber reports whether a name is a number up to a bound, without leading zeros.
func isNumber(name string, most uint64) bool {
	n, err := strconv.ParseUint(name, 10, 8)
	return err == nil && n <= most && strconv.FormatUint(n, 10) == name
}

// The largest class, and the largest number of a queue.
const mostClass, mostQueue = 15, 15

func usedClasses(rows map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range readMaps(schema.CfgDSCPToTC, decoded(rows)) {
		for _, p := range m.Pairs {
			out[number(p.To)] = "{}"
		}
	}
	return out
}

func mappedClasses(rows map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range readMaps(schema.CfgTCToQueue, decoded(rows)) {
		for _, p := range m.Pairs {
			out[number(p.From)] = "{}"
		}
	}
	return out
}

// A portMaps is the row of PORT_QOS_MAP that a port has.
type portMaps struct {
	key string
	schema.PortQoS
}

// own reports whether the row is for this port only.
func (m portMaps) own() bool { return len(m.Ports) == 1 }

// readPorts returns the rows of PORT_QOS_MAP by port. Of several rows for a port, the one whose key sorts first counts.
func readPorts(rows map[string]map[string]string) map[string]portMaps {
	out := map[string]portMaps{}
	for _, key := range slices.SortedFunc(maps.Keys(rows), schema.CompareNames) {
		m, err := schema.ParsePortQoS(key, kit.WithoutNull(rows[key]))
		for _, port := range m.Ports {
			if _, taken := out[port]; !taken && err == nil {
				out[port] = portMaps{key, m}
			}
		}
	}
	return out
}

func inbound(rows map[string]string) map[string]string {
	out := map[string]string{}
	for port, m := range readPorts(decoded(rows)) {
		for kind, suffix := range suffixes {
			if m.DSCPToTC != "" {
				out[port+" "+kind] = entry("name", m.DSCPToTC+suffix)
			}
		}
	}
	return out
}

// outputQueue returns the function that reads the queue of a class, if it is the same at all ports.
func outputQueue(s side) func(r tree.Record) []string {
	return func(r tree.Record) []string {
		of := readMaps(schema.CfgTCToQueue, decoded(r.Beside(s.class)))
		ports := readPorts(decoded(r.Beside(s.maps)))
		queues := queueCount(r.Beside(schema.CountersTable))
		found := ""
		for port := range r.Beside(s.port) {
			queue := queueOf(of, ports[port].TCToQueue, r.Keys[0], queues)
			if queue == "" || found != "" && queue != found {
				return nil
			}
			found = queue
		}
		return tree.One(found)
	}
}

// queueOf returns the queue of a class at a port with a map, or without one if the name is empty. queues is the number
// of queues that a port has. It returns "" if that is not known.
func queueOf(of map[string]schema.QoSMap, name, class string, queues int) string {
	n, err := strconv.Atoi(class)
	m, there := of[name]
	switch {
	case err != nil, name != "" && !there, queues == 0:
		return ""
	case name == "":
		return strconv.Itoa(min(n, queues-1))
	}
	for _, p := range m.Pairs {
		if int(p.From) == n {
			return number(p.To)
		}
	}
	return "0"
}

// queueCount returns the number of queues that a port has, from the names of all queues. It is 0 if it is not known.
func queueCount(names map[string]string) (n int) {
	for name := range names {
		_, queue, _ := strings.Cut(name, ":")
		if i, err := strconv.Atoi(queue); err == nil {
			n = max(n, i+1)
		}
	}
	return n
}

// A portQueue is a queue of a port, with the row of QUEUE that configures it.
type portQueue struct {
	port, number, key string
	scheduler, wred   string // "" if it has none
}

// own reports whether the row configures only this queue.
func (q portQueue) own() bool { return q.key == q.port+"|"+q.number }

// readQueues returns the configured queues, in the order of their rows' keys. Of several rows for a queue, the first
// counts.
func readQueues(rows map[string]map[string]string) (queues []portQueue) {
	taken := map[[2]string]bool{}
	for _, key := range slices.SortedFunc(maps.Keys(rows), schema.CompareNames) {
		q, err := schema.ParseQueue(key, kit.WithoutNull(rows[key]))
		if err != nil {
			continue
		}
		for _, port := range q.Ports {
			for _, n := range q.Queues {
				if at := [2]string{port, number(n)}; !taken[at] {
					taken[at] = true
					queues = append(queues, portQueue{port, number(n), key, q.Scheduler, q.WRED})
				}
			}
		}
	}
	return queues
}

func configuredQueues(rows map[string]string) map[string]string {
	out := map[string]string{}
	for _, q := range readQueues(decoded(rows)) {
		out[q.port+" "+q.number] = entry("wred_profile", q.wred)
	}
	return out
}

// inputOf returns the policy and the queue of a row P@N of SCHEDULER. ok is false for other rows.
func inputOf(scheduler string) (policy, queue string, ok bool) {
	i := strings.LastIndexByte(scheduler, '@')
	if i < 0 {
		return "", "", false
	}
	policy, queue = scheduler[:i], scheduler[i+1:]
	return policy, queue, validPolicy(policy) && isNumber(queue, mostQueue)
}

// validPolicy reports whether a policy can have rows P@N.
func validPolicy(name string) bool { return schema.ValidName(name) && !schema.IsPortName(name) }

// policyOf returns the policy of the queues of a port: that whose rows they name, or else that of the port's name. It
// is "" if no queue names a scheduler.
func policyOf(port string, queues []portQueue) string {
	found := ""
	for _, q := range queues {
		if q.port != port || q.scheduler == "" {
			continue
		}
		policy, queue, is := inputOf(q.scheduler)
		if !is || queue != q.number || found != "" && policy != found {
			return port
		}
		found = policy
	}
	return found
}

// sequenceOf returns the sequence of the inputs with a scheduler.
func sequenceOf(s schema.Scheduler) string {
	if s.Type == schema.SchedulerStrict {
		return strictSequence
	}
	return otherSequence
}

// eachInput calls a function for each row P@N of SCHEDULER.
func eachInput(rows map[string]string, do func(policy, sequence, queue string)) {
	for name, fields := range decoded(rows) {
		policy, queue, is := inputOf(name)
		if s, err := schema.ParseScheduler(name, kit.WithoutNull(fields)); is && err == nil {
			do(policy, sequenceOf(s), queue)
		}
	}
}

func policies(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachInput(rows, func(policy, _, _ string) { out[policy] = "{}" })
	return out
}

func schedulers(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachInput(rows, func(policy, sequence, _ string) { out[policy+" "+sequence] = "{}" })
	return out
}

func inputs(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachInput(rows, func(policy, sequence, queue string) { out[policy+" "+sequence+" "+queue] = "{}" })
	return out
}

// eachPortQueue calls a function for each queue with a scheduler of a port that has the policy of its name.
func eachPortQueue(rows map[string]string, do func(q portQueue)) {
	of := map[string][]portQueue{}
	for _, q := range readQueues(decoded(rows)) {
		of[q.port] = append(of[q.port], q)
	}
	for port, queues := range of {
		for _, q := range queues {
			if q.scheduler != "" && policyOf(port, queues) == port {
				do(q)
			}
		}
	}
}

func portPolicies(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachPortQueue(rows, func(q portQueue) { out[q.port] = "{}" })
	return out
}

// portSchedulers and portInputs return entries of both sequences. Those that are not there are left out by their key,
// since the types of schedulers are in another table.
func portSchedulers(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachPortQueue(rows, func(q portQueue) {
		out[q.port+" "+strictSequence], out[q.port+" "+otherSequence] = "{}", "{}"
	})
	return out
}

func portInputs(rows map[string]string) map[string]string {
	out := map[string]string{}
	eachPortQueue(rows, func(q portQueue) {
		for _, sequence := range []string{strictSequence, otherSequence} {
			out[q.port+" "+sequence+" "+q.number] = "{}"
		}
	})
	return out
}

// schedulersOf returns the schedulers of the queues of a policy. A weight that a row lacks is 0. rows are those of
// QUEUE, and schedulers those of SCHEDULER, combined.
func schedulersOf(policy string, rows, schedulers map[string]string) map[string]schema.Scheduler {
	names := map[string]string{}
	if schema.IsPortName(policy) {
		for _, q := range readQueues(near(policy, rows)) {
			if q.port == policy {
				names[q.number] = q.scheduler
			}
		}
	} else {
		for n := range uint8(mostQueue + 1) {
			names[number(n)] = policy + "@" + number(n)
		}
	}
	out := map[string]schema.Scheduler{}
	for queue, name := range names {
		text, there := schedulers[name]
		fields := tree.JSONFields(text)
		s, err := schema.ParseScheduler(name, kit.WithoutNull(fields))
		if (tree.Record{Fields: fields}).Field("weight") == "" {
			s.Weight = 0 // the default, which is not configured
		}
		if there && err == nil {
			out[queue] = s
		}
	}
	return out
}

// near returns the rows of QUEUE that may be for a port, which are few of many. rows are combined.
func near(port string, rows map[string]string) map[string]map[string]string {
	found := map[string]string{}
	for key, text := range rows {
		if strings.Contains(key, port) {
			found[key] = text
		}
	}
	return decoded(found)
}

// of returns the schedulers of the queues of the policy of an entry.
func (s side) of(r tree.Record) map[string]schema.Scheduler {
	return schedulersOf(r.Keys[0], r.Beside(s.row), r.Beside(s.scheduler))
}

// sequence returns the sequence of an entry of schedulers or inputs, or nil if the policy has no such queue.
func sequence(s side) func(r tree.Record) []string {
	return func(r tree.Record) []string {
		for queue, x := range s.of(r) {
			if sequenceOf(x) == r.Keys[1] && (len(r.Keys) < 3 || r.Keys[2] == queue) {
				return r.Keys[1:2]
			}
		}
		return nil
	}
}

// portPolicy returns the function that reads the policy of a port.
func portPolicy(s side) func(r tree.Record) []string {
	return func(r tree.Record) []string {
		port := r.Keys[0]
		return tree.One(wholePolicy(port, readQueues(near(port, r.Beside(s.row))), r.Beside(s.scheduler)))
	}
}

// wholePolicy returns the policy of the queues of a port. It is "" if they have only a part of one, which OpenConfig
// cannot express. schedulers are the rows of SCHEDULER, combined.
func wholePolicy(port string, queues []portQueue, schedulers map[string]string) string {
	policy := policyOf(port, queues)
	inputs := schedulersOf(policy, nil, schedulers)
	for queue := range inputs {
		has := func(q portQueue) bool { return q.port == port && q.number == queue && q.scheduler != "" }
		if policy != port && !slices.ContainsFunc(queues, has) {
			return ""
		}
	}
	if policy != port && len(inputs) == 0 {
		return ""
	}
	return policy
}
