package qos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// This file writes classifiers and forwarding groups: the maps of DSCP to classes, and of classes to queues.

// changed begins an item of a check at the end of a Set: what was changed. Other items begin with the version of IP
// for which the Set names something, or all with a wildcard.
const changed = "changed "

// oneSided returns what a Set has changed for one version of IP only, and the version that it has left out.
func oneSided(items []string) (what, without string) {
	for _, item := range items {
		what, is := strings.CutPrefix(item, changed)
		for _, kind := range []string{ipv4, ipv6} {
			if is && !slices.Contains(items, kind+" "+what) && !slices.Contains(items, kind+" "+tree.Wildcard) {
				return what, kind
			}
		}
	}
	return "", ""
}

// otherKind returns the other version of IP.
func otherKind(kind string) string { return map[string]string{ipv4: ipv6, ipv6: ipv4}[kind] }

// classifierThrough returns the Through of classifiers. The row of a classifier exists as long as it has terms.
func classifierThrough() *tree.Through {
	return &tree.Through{
		Put: func(_ context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			_, kind, ok := mapOf(keys[0])
			switch {
			case !ok:
				return fmt.Errorf("name %s: want NAME_ipv4 or NAME_ipv6, which share DSCP_TO_TC_MAP|NAME", tree.Quoted(keys[0]))
			case leaf == "config/type" && v[0] != kind:
				return fmt.Errorf("%s: want %s, as the name ends", v[0], kind)
			}
			s.Needs(classifierPath, "terms", keys, termsThere, nil)
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if !whole {
				return nil
			}
			s.Forgo(classifierPath, pattern)
			return removeTerms(ctx, s, []string{pattern[0], tree.Wildcard}, n, true)
		},
	}
}

// termsThere finds the terms of a classifier, or one term, as the Set leaves them.
func termsThere(ctx context.Context, s tree.Setting, keys []string) (found [][]string, err error) {
	name, _, _ := mapOf(keys[0])
	row, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, name)
	for class := range dscpsIn(name, row) {
		if len(keys) == 1 || keys[1] == class {
			found = append(found, []string{keys[0], class})
		}
	}
	return found, err
}

// dscpsIn returns the values of DSCP that a row of DSCP_TO_TC_MAP names, by class; none if the row is not valid.
func dscpsIn(name string, row map[string]string) map[string][]string {
	return dscpsByClass(readMaps(schema.CfgDSCPToTC, map[string]map[string]string{name: row})[name])
}

// checkMap checks a row of DSCP_TO_TC_MAP at the end of the Set: both versions of IP must have got the same changes. No
// interface may use a row without fields, which is deleted.
func checkMap(s tree.Setting, name, item string) {
	s.Later("map "+name, item, func(ctx context.Context, items []string) error {
		if class, without := oneSided(items); without != "" {
			at := func(kind string) string {
				return fmt.Sprintf("%s[name=%s%s]/terms/term[id=%s]", classifierPath, name, suffixes[kind], class)
			}
			return fmt.Errorf("%s: the switch has one map for IPv4 and IPv6: want the same change of %s in this Set",
				at(otherKind(without)), at(without))
		}
		row, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, name)
		if err != nil || len(kit.WithoutNull(row)) > 0 {
			return err
		}
		rows, err := kit.RawTable(ctx, s, schema.CfgPortQoS, tree.Wildcard)
		var users []string
		for port, m := range readPorts(rows) {
			if m.DSCPToTC == name {
				users = append(users, port)
			}
		}
		switch {
		case err != nil || row == nil && len(users) == 0:
			return err
		case len(users) > 0:
			schema.SortNames(users)
			return tree.Refused(fmt.Errorf("%s[name=%s%s]: in use by interface %s", classifierPath, name, suffixes[ipv4],
				strings.Join(users, ", ")))
		}
		return kit.EraseRaw(ctx, s, schema.CfgDSCPToTC, name)
	})
}

// ofClass returns the codec of the values of DSCP that belong to a class, in a row of DSCP_TO_TC_MAP.
func ofClass(name, class string) tree.Codec {
	return tree.Codec{
		Shared: true,
		Get:    func(r tree.Record) []string { return dscpsIn(name, r.Fields)[class] },
		Put: func(r tree.Record, v []string) error {
			goes := append(slices.Clone(v), dscpsIn(name, r.Fields)[class]...)
			maps.DeleteFunc(r.Fields, func(f, _ string) bool {
				n, err := strconv.ParseUint(strings.TrimLeft(f, "0"), 10, 8)
				if h, is := strings.CutPrefix(f, "0x"); is {
					n, err = strconv.ParseUint(h, 16, 8)
				} else if f == "0" {
					n, err = 0, nil
				}
				return err == nil && slices.Contains(goes, number(uint8(n)))
			})
			for _, dscp := range v {
				r.Fields[dscp] = class
			}
			return nil
		},
	}
}

// dscpLeaf returns the leaf of a term with its values, for a version of IP.
func dscpLeaf(kind string) string { return "conditions/" + strings.ToLower(kind) + "/config/dscp-set" }

// termThrough returns the Through of the terms of classifiers.
func termThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name, kind, ok := mapOf(keys[0])
			class := keys[1]
			switch {
			case !ok:
				return nil // the classifier was refused already
			case !isNumber(class, mostClass):
				return fmt.Errorf("id %s: want the number of a traffic class, 0..%d, which is the target-group too",
					tree.Quoted(class), mostClass)
			case leaf == "actions/config/target-group" && v[0] != class:
				return fmt.Errorf("%s: want %s, which is the id of the term", tree.Quoted(v[0]), class)
			case leaf == dscpLeaf(otherKind(kind)):
				return fmt.Errorf("%s cannot be set in a classifier of type %s", strings.Join(v, ", "), kind)
			}
			row, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, name)
			if len(kit.WithoutNull(row)) > 0 && err == nil {
				_, err = schema.ParseQoSMap(schema.CfgDSCPToTC, name, kit.WithoutNull(row))
			}
			if err != nil {
				return err
			}
			checkMap(s, name, kind+" "+class)
			s.Needs(termPath, dscpLeaf(kind), keys, termsThere, nil)
			if leaf != dscpLeaf(kind) {
				return nil
			}
			return errors.Join(kit.MakeRaw(ctx, s, schema.CfgDSCPToTC, name), writeTerm(ctx, s, name, class, v))
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			return removeTerms(ctx, s, pattern, n, whole)
		},
	}
}

// writeTerm writes the values of DSCP that belong to a class.
func writeTerm(ctx context.Context, s tree.Setting, name, class string, v []string) error {
	before, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, name)
	if err != nil {
		return err
	}
	was := dscpsIn(name, before)[class]
	if err := kit.WriteItems(ctx, s, schema.CfgDSCPToTC, name, ofClass(name, class), nil, v); err != nil {
		return err
	}
	after, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, name)
	if err == nil && !slices.Equal(was, dscpsIn(name, after)[class]) {
		checkMap(s, name, changed+class)
	}
	return err
}

// removeTerms removes the terms that match a pattern of a classifier and an id or, if not whole, the values of DSCP if
// a node has them.
func removeTerms(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
	if whole {
		s.Forgo(termPath, pattern)
	}
	rows, err := kit.RawTable(ctx, s, schema.CfgDSCPToTC, tree.Wildcard)
	for _, name := range tree.SortedKeys(rows) {
		there := dscpsIn(name, rows[name])
		for kind, suffix := range suffixes {
			leaf := termPath + "/" + dscpLeaf(kind)
			if !tree.Matches([]string{name + suffix}, pattern[:1]) || !within(leaf, n) {
				continue
			}
			checkMap(s, name, kind+" "+pattern[1])
			for class := range there {
				keys := []string{name + suffix, class}
				if !tree.Matches(keys, pattern) {
					continue
				}
				if !whole {
					s.Needs(termPath, dscpLeaf(kind), keys, termsThere, nil)
				}
				err = errors.Join(err, writeTerm(ctx, s, name, class, nil))
			}
		}
	}
	return err
}

// groupThrough returns the Through of forwarding groups. The queue of a class is in all maps of classes to queues, and
// every port has one of them, or none has. A class that is at different queues of ports is written in CONFIG_DB.
func groupThrough() *tree.Through {
	return &tree.Through{
		Put: func(_ context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			class := keys[0]
			if !isNumber(class, mostClass) {
				return fmt.Errorf("name %s: want the number of a traffic class, 0..%d", tree.Quoted(class), mostClass)
			}
			s.Needs(groupPath, "config/output-queue", keys, groupsThere, nil)
			if leaf == "config/output-queue" {
				queue := v[0]
				s.Later("forwarding-group "+class, "", func(ctx context.Context, _ []string) error {
					return putGroup(ctx, s, class, queue)
				})
			}
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if whole {
				s.Forgo(groupPath, pattern)
			}
			if !within(groupPath+"/config/output-queue", n) {
				return nil
			}
			for i := range mostClass + 1 {
				keys := []string{strconv.Itoa(i)}
				if !tree.Matches(keys, pattern) {
					continue
				}
				there, err := groupsThere(ctx, s, keys)
				if err != nil {
					return err
				}
				if !whole && len(there) > 0 {
					s.Needs(groupPath, "config/output-queue", keys, groupsThere, nil)
				}
				s.Later("forwarding-group "+keys[0], "", func(ctx context.Context, _ []string) error {
					return removeGroup(ctx, s, keys[0], pattern[0] == tree.Wildcard)
				})
			}
			return nil
		},
	}
}

// groupsThere finds a forwarding group that a map of classes to queues names, or a classifier.
func groupsThere(ctx context.Context, s tree.Setting, keys []string) ([][]string, error) {
	c, err := readClasses(ctx, s)
	if err == nil && (c.mapped(keys[0]) || len(c.users[keys[0]]) > 0) {
		return [][]string{keys}, nil
	}
	return nil, err
}

// classes holds the rows that determine the queues of classes, as the Set has left them so far.
type classes struct {
	maps   map[string]schema.QoSMap // of classes to queues
	users  map[string][]string      // the classifiers, and other maps, that name a class
	ports  map[string]portMaps      // the rows of PORT_QOS_MAP, by port
	names  []string                 // ports
	queues int                      // number of queues that a port has
}

func readClasses(ctx context.Context, s tree.Setting) (*classes, error) {
	rows := map[string]map[string]map[string]string{}
	for _, table := range []string{schema.CfgTCToQueue, schema.CfgDSCPToTC, schema.CfgDot1pToTC, schema.CfgPortQoS,
		schema.CfgPort} {
		var err error
		if rows[table], err = kit.RawTable(ctx, s, table, tree.Wildcard); err != nil {
			return nil, err
		}
	}
	queues, err := s.Match(ctx, queuePath, tree.Wildcard)
	c := &classes{
		maps:  readMaps(schema.CfgTCToQueue, rows[schema.CfgTCToQueue]),
		users: map[string][]string{},
		ports: readPorts(rows[schema.CfgPortQoS]), names: tree.SortedKeys(rows[schema.CfgPort]), queues: len(queues),
	}
	for _, table := range []string{schema.CfgDSCPToTC, schema.CfgDot1pToTC} {
		of := readMaps(table, rows[table])
		for _, name := range tree.SortedKeys(of) {
			for class := range dscpsByClass(of[name]) {
				c.users[class] = append(c.users[class], table+"|"+name)
			}
		}
	}
	return c, err
}

// mapped reports whether a map of classes to queues names a class.
func (c *classes) mapped(class string) bool {
	for _, m := range c.maps {
		if slices.ContainsFunc(m.Pairs, func(p schema.QoSPair) bool { return number(p.From) == class }) {
			return true
		}
	}
	return false
}

// queue returns the queue of a class at all ports. It is "" if they differ, or if it is not known.
func (c *classes) queue(class string) (found string) {
	for i, port := range c.names {
		queue := queueOf(c.maps, c.ports[port].TCToQueue, class, c.queues)
		if i > 0 && queue != found {
			return ""
		}
		found = queue
	}
	return found
}

// groupsMap is the map of classes to queues that a Set makes if there is none.
const groupsMap = "forwarding-groups"

// putGroup gives a class a queue at all ports.
func putGroup(ctx context.Context, s tree.Setting, class, queue string) error {
	path := fmt.Sprintf("%s[name=%s]/config/output-queue", groupPath, class)
	c, err := readClasses(ctx, s)
	if err != nil {
		return err
	}
	if !isNumber(queue, mostQueue) {
		return fmt.Errorf("%s: %s: want the number of a queue", path, tree.Quoted(queue))
	}
	if n, _ := strconv.Atoi(queue); n >= c.queues && c.queues > 0 {
		return fmt.Errorf("%s: there is no queue %s: want 0..%d", path, queue, c.queues-1)
	}
	if c.queue(class) == queue && (c.mapped(class) || len(c.users[class]) > 0) {
		return nil
	}
	if len(c.names) == 0 {
		return fmt.Errorf("%s: there is no port", path)
	}
	unmapped := slices.DeleteFunc(slices.Clone(c.names), func(port string) bool { return c.ports[port].TCToQueue != "" })
	switch {
	case len(unmapped) == 0:
	case len(unmapped) < len(c.names):
		return fmt.Errorf("%s: %s has no map of classes to queues, and other ports have: want a tc_to_queue_map in "+
			"PORT_QOS_MAP", path, unmapped[0])
	default:
		if err := c.makeMap(ctx, s, class, queue); err != nil {
			return err
		}
	}
	if c, err = readClasses(ctx, s); err != nil {
		return err
	}
	for _, name := range tree.SortedKeys(c.maps) {
		if err := writeClass(ctx, s, name, class, queue); err != nil {
			return err
		}
	}
	if c, err = readClasses(ctx, s); err == nil && c.queue(class) != queue {
		err = fmt.Errorf("%s: a port has a map of classes to queues that is not valid: want another tc_to_queue_map in "+
			"PORT_QOS_MAP", path)
	}
	return err
}

// makeMap gives all ports a map of classes to queues, in which the classes that are used keep their queues.
func (c *classes) makeMap(ctx context.Context, s tree.Setting, class, queue string) error {
	if c.queues == 0 {
		return errors.New("forwarding-groups: the number of queues is not known yet: want a switch whose orchagent runs")
	}
	if err := kit.MakeRaw(ctx, s, schema.CfgTCToQueue, groupsMap); err != nil {
		return err
	}
	for used := range c.users {
		if err := writeClass(ctx, s, groupsMap, used, queueOf(nil, "", used, c.queues)); err != nil {
			return err
		}
	}
	if err := writeClass(ctx, s, groupsMap, class, queue); err != nil {
		return err
	}
	for _, port := range c.names {
		key := cmp.Or(c.ports[port].key, port)
		if err := kit.MakeRaw(ctx, s, schema.CfgPortQoS, key); err != nil {
			return err
		}
		err := kit.WriteRaw(ctx, s, schema.CfgPortQoS, key, kit.Text("tc_to_queue_map"), nil, []string{groupsMap})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeClass writes the queue of a class into a row of TC_TO_QUEUE_MAP.
func writeClass(ctx context.Context, s tree.Setting, name, class, queue string) error {
	c := kit.Text(class)
	c.Shared = true
	return kit.WriteRaw(ctx, s, schema.CfgTCToQueue, name, c, nil, tree.One(queue))
}

// removeGroup removes a class from all maps of classes to queues. A map without classes is deleted. If any is true, the
// Set removes all groups, and keeps what OpenConfig cannot express. A class that a classifier names then has the queue
// that it has without a map, or the first if other classes keep the map.
func removeGroup(ctx context.Context, s tree.Setting, class string, any bool) error {
	path := fmt.Sprintf("%s[name=%s]", groupPath, class)
	c, err := readClasses(ctx, s)
	if err != nil || !c.mapped(class) && len(c.users[class]) == 0 {
		return err
	}
	switch {
	case len(c.users[class]) > 0 && !any:
		return tree.Refused(fmt.Errorf("%s: in use by %s", path, strings.Join(c.users[class], ", ")))
	case c.queue(class) == "" && any:
		return nil
	case c.queue(class) == "":
		return fmt.Errorf("%s: its queues at ports differ, or are not known: it is written in CONFIG_DB", path)
	}
	for _, name := range tree.SortedKeys(c.maps) {
		if err := writeClass(ctx, s, name, class, ""); err != nil {
			return err
		}
		row, err := kit.ReadRaw(ctx, s, schema.CfgTCToQueue, name)
		if err != nil || len(kit.WithoutNull(row)) > 0 {
			if err != nil {
				return err
			}
			continue
		}
		if err := kit.EraseRaw(ctx, s, schema.CfgTCToQueue, name); err != nil {
			return err
		}
		for _, m := range c.ports {
			if m.TCToQueue != name {
				continue
			}
			err := kit.WriteRaw(ctx, s, schema.CfgPortQoS, m.key, kit.Text("tc_to_queue_map"), nil, nil)
			if err = errors.Join(err, removeEmpty(ctx, s, schema.CfgPortQoS, m.key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// queueLimit returns the largest number of a queue, if a port has n queues; 0 means that n is not known.
func queueLimit(n int) int {
	if n == 0 {
		return mostQueue
	}
	return n - 1
}

// queueThrough returns the Through of the queues that all ports have. A Set can only repeat them.
func queueThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			all, err := s.Match(ctx, queuePath, tree.Wildcard)
			there := func(k []string) bool { return k[0] == keys[0] }
			switch {
			case err != nil:
				return err
			case !isNumber(keys[0], mostQueue) || len(all) > 0 && !slices.ContainsFunc(all, there):
				return fmt.Errorf("name %s: want the number of a queue, 0..%d", tree.Quoted(keys[0]), queueLimit(len(all)))
			case leaf == "config/queue-id" && v[0] != keys[0]:
				return fmt.Errorf("%s: want %s, which is the name", v[0], keys[0])
			}
			return nil
		},
		Remove: func(_ context.Context, _ tree.Setting, pattern []string, _ *tree.Node, whole bool) error {
			if whole && pattern[0] != tree.Wildcard {
				return errors.New("cannot be deleted: ports have this queue")
			}
			return nil
		},
	}
}
