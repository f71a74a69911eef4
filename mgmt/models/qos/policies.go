package qos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// This file writes scheduler policies. The policy P is the rows P@N of SCHEDULER. The queues of a port that has it name
// these rows, and follow when a Set changes them.

// textOf returns the path of a policy, or of a scheduler or an input of it.
func textOf(keys ...string) string {
	path := fmt.Sprintf("%s[name=%s]", policyPath, keys[0])
	if len(keys) > 1 {
		path += fmt.Sprintf("/schedulers/scheduler[sequence=%s]", keys[1])
	}
	if len(keys) > 2 {
		path += fmt.Sprintf("/inputs/input[id=%s]", keys[2])
	}
	return path
}

// policyThrough returns the Through of policies, of their schedulers, or of the inputs of these. list is its path.
func policyThrough(list string) *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			if err := checkInput(keys, leaf, v); err != nil {
				return err
			}
			if schema.IsPortName(keys[0]) {
				repeatShown(s, keys, leaf, v)
				return nil
			}
			if err := checkPolicy(ctx, s, keys[0]); err != nil {
				return err
			}
			switch list {
			case policyPath:
				s.Needs(list, "schedulers", keys, inputsThere, nil)
			case schedulerPath:
				s.Needs(list, "inputs", keys, inputsThere, nil)
				return putScheduler(ctx, s, keys, leaf)
			case inputPath:
				return putInput(ctx, s, keys, leaf, v)
			}
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if whole {
				s.Forgo(list, pattern)
			}
			weight := list == inputPath && within(inputPath+"/config/weight", n)
			rows, err := kit.RawTable(ctx, s, schema.CfgScheduler, tree.Wildcard)
			of := slices.DeleteFunc(inputsIn(rows), func(x input) bool { return !tree.Matches(x.keys[:len(pattern)], pattern) })
			for _, x := range of {
				err = errors.Join(err, checkPolicy(ctx, s, x.keys[0]))
			}
			for _, x := range of {
				if n.Name == "priority" {
					return errors.New("cannot be deleted: the queues of this scheduler are strict; delete it, or its inputs")
				}
				if whole || weight {
					err = errors.Join(err, kit.WriteRaw(ctx, s, schema.CfgScheduler, x.row, weightOf(), nil, nil))
				}
				if whole {
					err = errors.Join(err, kit.EraseRaw(ctx, s, schema.CfgScheduler, x.row))
					s.Later("strict "+x.keys[0], "", nil)
				}
			}
			return errors.Join(err, removeShown(ctx, s, pattern, whole))
		},
	}
}

// checkInput checks the keys of a policy, a scheduler or an input, and values that can only be one.
func checkInput(keys []string, leaf string, v []string) error {
	name := strings.TrimPrefix(leaf, "config/")
	switch {
	case !schema.ValidName(keys[0] + "@15"):
		return fmt.Errorf("name %s: want printable characters, without blanks, colons, commas and bars", tree.Quoted(keys[0]))
	case len(keys) > 1 && keys[1] != strictSequence && keys[1] != otherSequence:
		return fmt.Errorf("sequence %s: want 0 for strict queues, or 1 for the others", keys[1])
	case name == "priority" && keys[1] != strictSequence:
		return fmt.Errorf("%s: want no priority; strict queues are in the scheduler 0", v[0])
	case len(keys) > 2 && !isNumber(keys[2], mostQueue):
		return fmt.Errorf("id %s: want the number of a queue, 0..%d", tree.Quoted(keys[2]), mostQueue)
	case name == "input-type" && v[0] != inputQueue:
		return fmt.Errorf("%s: want %s", v[0], inputQueue)
	case name == "queue" && v[0] != keys[2]:
		return fmt.Errorf("%s: want %s, which is the id of the input", tree.Quoted(v[0]), keys[2])
	case name == "weight" && keys[1] == strictSequence && v[0] != keys[2]:
		return fmt.Errorf("%s: want %s or none: of strict queues that with the largest number is served first", v[0], keys[2])
	case name == "weight" && keys[1] == otherSequence && (!isNumber(v[0], mostWeight) || v[0] == "0"):
		return fmt.Errorf("%s: want 1..%d", v[0], mostWeight)
	}
	return nil
}

// mostWeight is the largest weight of a queue.
const mostWeight = 100

// putScheduler makes a scheduler. That of strict queues must have its priority when it is made.
func putScheduler(ctx context.Context, s tree.Setting, keys []string, leaf string) error {
	if keys[1] != strictSequence {
		return nil
	}
	const given = "priority"
	item := given
	if leaf == "" {
		there, err := inputsThere(ctx, s, keys)
		if err != nil || len(there) > 0 {
			return err
		}
		item = "made"
	}
	s.Later("strict "+keys[0], item, func(_ context.Context, items []string) error {
		if slices.Contains(items, "made") && !slices.Contains(items, given) {
			return fmt.Errorf("%s/config/priority: is missing: the queues of this scheduler are strict", textOf(keys...))
		}
		return nil
	})
	return nil
}

// putInput makes an input, or sets its weight.
func putInput(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
	row := keys[0] + "@" + keys[2]
	switch {
	case leaf == "":
		is, err := kit.ReadRaw(ctx, s, schema.CfgScheduler, row)
		if was := typeOf().Get(tree.Record{Fields: is}); err == nil && is != nil && was != nil && was[0] != keys[1] {
			err = fmt.Errorf("the queue is an input of the scheduler %s: want a delete of that in this Set", was[0])
		}
		if err != nil {
			return err
		}
		return errors.Join(kit.MakeRaw(ctx, s, schema.CfgScheduler, row),
			kit.WriteRaw(ctx, s, schema.CfgScheduler, row, typeOf(), nil, keys[1:2]))
	case leaf == "config/weight" && keys[1] == otherSequence:
		return kit.WriteRaw(ctx, s, schema.CfgScheduler, row, weightOf(), nil, v)
	}
	return nil
}

// typeOf returns the codec of the sequence of an input, in its row of SCHEDULER. A new row with a weight counts bytes.
func typeOf() tree.Codec {
	const field = "type"
	is := func(r tree.Record) string {
		x, err := schema.ParseScheduler("x", kit.WithoutNull(r.Fields))
		if err != nil || len(r.Fields) == 0 {
			return ""
		}
		return sequenceOf(x)
	}
	return tree.Codec{
		Get: func(r tree.Record) []string { return tree.One(is(r)) },
		Put: func(r tree.Record, v []string) error {
			switch {
			case len(v) == 0:
				r.Set(field, "")
			case is(r) == v[0]:
			case v[0] == strictSequence:
				r.Set(field, schema.SchedulerStrict)
				r.Set("weight", "")
			default:
				r.Set(field, schema.SchedulerDWRR)
			}
			return nil
		},
	}
}

// weightOf returns the codec of the weight of an input.
func weightOf() tree.Codec { return kit.OrElse(kit.Number("weight", "%d"), "1") }

// An input is a row of SCHEDULER, with the keys of the input that it is.
type input struct {
	keys []string
	row  string
}

// inputsIn returns the valid inputs among rows of SCHEDULER, sorted.
func inputsIn(rows map[string]map[string]string) (found []input) {
	for _, row := range slices.SortedFunc(maps.Keys(rows), schema.CompareNames) {
		policy, queue, is := inputOf(row)
		if x, err := schema.ParseScheduler(row, kit.WithoutNull(rows[row])); is && err == nil {
			found = append(found, input{[]string{policy, sequenceOf(x), queue}, row})
		}
	}
	return found
}

// inputsThere finds the inputs of a policy or of a scheduler, as the Set leaves them.
func inputsThere(ctx context.Context, s tree.Setting, keys []string) (found [][]string, err error) {
	for n := range uint8(mostQueue + 1) {
		row := keys[0] + "@" + number(n)
		fields, bad := kit.ReadRaw(ctx, s, schema.CfgScheduler, row)
		err = errors.Join(err, bad)
		for _, x := range inputsIn(map[string]map[string]string{row: fields}) {
			if fields != nil && slices.Equal(x.keys[:len(keys)], keys) {
				found = append(found, x.keys)
			}
		}
	}
	return found, err
}

// readPortQueues returns the configured queues as the Set has left them so far.
func readPortQueues(ctx context.Context, s tree.Setting) ([]portQueue, error) {
	rows, err := kit.RawTable(ctx, s, schema.CfgQueue, tree.Wildcard)
	return readQueues(rows), err
}

// checkPolicy makes the queues of the ports that have a policy follow it at the end of the Set. It is called before the
// Set changes the policy. No queue may name an input that the Set deletes.
func checkPolicy(ctx context.Context, s tree.Setting, policy string) error {
	queues, err := readPortQueues(ctx, s)
	if err != nil {
		return err
	}
	rows, err := kit.RawTable(ctx, s, schema.CfgScheduler, tree.Wildcard)
	check := func(ctx context.Context, ports []string) error { return followPolicy(ctx, s, policy, ports) }
	s.Later("policy "+policy, "", check)
	for _, q := range queues {
		if of, _, is := inputOf(q.scheduler); is && of == policy && wholePolicy(q.port, queues, encoded(rows)) == policy {
			s.Later("policy "+policy, q.port, check)
		}
	}
	return err
}

// followPolicy makes the queues of ports follow a policy.
func followPolicy(ctx context.Context, s tree.Setting, policy string, ports []string) error {
	queues, err := readPortQueues(ctx, s)
	if err != nil {
		return err
	}
	there, err := inputsThere(ctx, s, []string{policy})
	if err != nil {
		return err
	}
	var users []string
	for _, q := range queues {
		of, number, is := inputOf(q.scheduler)
		exists := slices.ContainsFunc(there, func(keys []string) bool { return keys[2] == number })
		follows := slices.Contains(ports, q.port) && len(there) > 0 && policyOf(q.port, queues) == policy
		if is && of == policy && !exists && !follows && !slices.Contains(users, q.port) {
			users = append(users, q.port)
		}
	}
	if len(users) > 0 {
		schema.SortNames(users)
		return tree.Refused(fmt.Errorf("%s: in use by interface %s", textOf(policy), strings.Join(users, ", ")))
	}
	for _, port := range ports {
		if policyOf(port, queues) != policy { // it has got another one
			continue
		}
		if err := bindPolicy(ctx, s, port, policy, there); err != nil {
			return err
		}
	}
	return nil
}

// errShared returns the error for a queue whose row is for other queues, too.
func errShared(q portQueue) error {
	return fmt.Errorf("QUEUE|%s configures it together with other queues: it is written in CONFIG_DB", q.key)
}

// bindPolicy makes the queues of a port name the rows of a policy, and no other. inputs are those of the policy.
func bindPolicy(ctx context.Context, s tree.Setting, port, policy string, inputs [][]string) error {
	queues, err := readPortQueues(ctx, s)
	if err != nil {
		return err
	}
	want := map[string]string{}
	for _, keys := range inputs {
		want[keys[2]] = policy + "@" + keys[2]
	}
	for _, q := range queues {
		if q.port != port {
			continue
		}
		is := want[q.number]
		delete(want, q.number)
		switch {
		case q.scheduler == is:
			continue
		case !q.own():
			return fmt.Errorf("%s/%s: queue %s: %w", textOfPort(port), policyLeaf, q.number, errShared(q))
		}
		if err := writeQueue(ctx, s, q.key, "scheduler", is); err != nil {
			return err
		}
	}
	for queue, scheduler := range want {
		key := port + "|" + queue
		if err := kit.MakeRaw(ctx, s, schema.CfgQueue, key); err != nil {
			return err
		}
		if err := writeQueue(ctx, s, key, "scheduler", scheduler); err != nil {
			return err
		}
	}
	return nil
}

// writeQueue writes a field of a row of QUEUE. A row without fields is deleted.
func writeQueue(ctx context.Context, s tree.Setting, key, field, value string) error {
	if err := kit.WriteRaw(ctx, s, schema.CfgQueue, key, kit.Text(field), nil, tree.One(value)); err != nil {
		return err
	}
	return removeEmpty(ctx, s, schema.CfgQueue, key)
}

// removeEmpty deletes a row that has no fields left.
func removeEmpty(ctx context.Context, s tree.Setting, table, key string) error {
	row, err := kit.ReadRaw(ctx, s, table, key)
	if err != nil || row == nil || len(kit.WithoutNull(row)) > 0 {
		return err
	}
	return kit.EraseRaw(ctx, s, table, key)
}

// A policy of a port's name shows rows of QUEUE that name other schedulers. A Set can repeat it, and remove it from the
// port, but not change it.

// shown returns the inputs of the policy of a port's name, by their keys. is reports whether the port has it.
func shown(ctx context.Context, s tree.Setting, port string) (inputs map[string]schema.Scheduler, is bool, err error) {
	queues, err := readPortQueues(ctx, s)
	if err != nil || policyOf(port, queues) != port {
		return nil, false, err
	}
	rows, err := kit.RawTable(ctx, s, schema.CfgScheduler, tree.Wildcard)
	inputs = map[string]schema.Scheduler{}
	for _, q := range queues {
		fields, there := rows[q.scheduler]
		if x, bad := schema.ParseScheduler("x", kit.WithoutNull(fields)); q.port == port && there && bad == nil {
			inputs[sequenceOf(x)+" "+q.number] = x
		}
	}
	return inputs, true, err
}

// errShown is the error of a Set that changes the policy of a port's name.
var errShown = errors.New("the policy of a port's name shows rows of QUEUE: want another name, or write CONFIG_DB")

// repeatShown accepts what the policy of a port's name has. It is checked at the end of the Set, which may also repeat
// the rows of SCHEDULER that the policy shows.
func repeatShown(s tree.Setting, keys []string, leaf string, v []string) {
	item := strings.Join(keys[1:], " ")
	if leaf == "config/weight" && keys[1] == otherSequence {
		item += " " + v[0]
	}
	s.Later("shown "+keys[0], item, checkShown(s, keys[0], false))
}

// shownItems returns the items of repeatShown for all of a policy.
func shownItems(inputs map[string]schema.Scheduler) map[string]bool {
	items := map[string]bool{"": true}
	for at, x := range inputs {
		sequence, _, _ := strings.Cut(at, " ")
		items[sequence], items[at] = true, true
		if sequence == otherSequence {
			items[at+" "+number(x.Weight)] = true
		}
	}
	return items
}

// removed is an item of the check of a policy of a port's name: the Set removes it, unless it repeats all of it.
const removed = "removed"

// removeShown notes that a Set removes policies of ports' names.
func removeShown(ctx context.Context, s tree.Setting, pattern []string, whole bool) error {
	queues, err := readPortQueues(ctx, s)
	done := map[string]bool{}
	for _, q := range queues {
		if err != nil || done[q.port] || !tree.Matches([]string{q.port}, pattern[:1]) || policyOf(q.port, queues) != q.port {
			continue
		}
		done[q.port] = true
		if whole {
			s.Later("shown "+q.port, "", nil)
			s.Later("shown "+q.port, removed, checkShown(s, q.port, pattern[0] == tree.Wildcard))
		}
	}
	return err
}

// checkShown returns the check of a policy of a port's name at the end of the Set. If any is true, the Set removes the
// policies of all ports, and keeps what is in rows for several queues.
func checkShown(s tree.Setting, port string, any bool) func(context.Context, []string) error {
	return func(ctx context.Context, items []string) error {
		there, is, err := shown(ctx, s, port)
		if err != nil {
			return err
		}
		may := shownItems(there)
		for _, item := range items {
			if item != removed && (!is || !may[item]) {
				return fmt.Errorf("%s: %w", textOf(append([]string{port}, strings.Fields(item)...)...), errShown)
			}
		}
		if !slices.Contains(items, removed) {
			return nil
		}
		queues, err := readPortQueues(ctx, s)
		for at := range there {
			_, number, _ := strings.Cut(at, " ")
			i := slices.IndexFunc(queues, func(q portQueue) bool { return q.port == port && q.number == number })
			if slices.Contains(items, at) || any && !queues[i].own() {
				continue
			}
			return errors.Join(err, tree.Refused(fmt.Errorf("%s: in use by interface %s: delete the output/scheduler-policy of "+
				"that, too", textOf(port), port)))
		}
		return err
	}
}
