package qos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// This file writes what ports have: their maps, their policy, and the profiles of their queues.

// textOfPort returns the path of a port.
func textOfPort(port string) string { return fmt.Sprintf("%s[interface-id=%s]", portPath, port) }

// policyLeaf is the leaf with the policy of a port.
const policyLeaf = "output/scheduler-policy/config/name"

// portThrough returns the Through of ports: they exist, and have a policy.
func portThrough() *tree.Through {
	later := func(port string) string { return "interface policy " + port }
	return &tree.Through{
		Put: func(_ context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			port := keys[0]
			s.Later("interface "+port, "", func(ctx context.Context, _ []string) error {
				row, err := kit.ReadRaw(ctx, s, schema.CfgPort, port)
				if err == nil && row == nil {
					err = fmt.Errorf("%s: there is no port %s", textOfPort(port), tree.Quoted(port))
				}
				return err
			})
			if leaf != policyLeaf {
				return nil
			}
			s.Later(later(port), "", func(ctx context.Context, _ []string) error { return putPolicy(ctx, s, port, v[0]) })
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			var err error
			if whole {
				every := []string{pattern[0], tree.Wildcard}
				err = errors.Join(inboundThrough().Remove(ctx, s, every, n, true), profileThrough().Remove(ctx, s, every, n, true))
			}
			if !within(portPath+"/"+policyLeaf, n) {
				return err
			}
			queues, bad := readPortQueues(ctx, s)
			for _, q := range queues {
				if q.scheduler != "" && tree.Matches([]string{q.port}, pattern) {
					s.Later(later(q.port), "", func(ctx context.Context, _ []string) error {
						return removePolicy(ctx, s, q.port, pattern[0] == tree.Wildcard)
					})
				}
			}
			return errors.Join(err, bad)
		},
	}
}

// within reports whether a path is that of a node, or below it.
func within(path string, n *tree.Node) bool {
	return path == n.Path || len(path) > len(n.Path) && path[:len(n.Path)+1] == n.Path+"/"
}

// putPolicy gives a port a policy.
func putPolicy(ctx context.Context, s tree.Setting, port, policy string) error {
	path := textOfPort(port) + "/" + policyLeaf
	if schema.IsPortName(policy) {
		queues, err := readPortQueues(ctx, s)
		if err == nil && (policy != port || policyOf(port, queues) != port) {
			err = fmt.Errorf("%s: %s: %w", path, policy, errShown)
		}
		return err
	}
	inputs, err := inputsThere(ctx, s, []string{policy})
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("%s: there is no scheduler-policy %s", path, policy)
	}
	if err != nil {
		return err
	}
	return bindPolicy(ctx, s, port, policy, inputs)
}

// encoded returns rows as they are combined.
func encoded(rows map[string]map[string]string) map[string]string {
	out := map[string]string{}
	for key, fields := range rows {
		out[key] = encode(fields)
	}
	return out
}

// removePolicy removes the policy of a port. If any is true, the Set removes those of all ports, and keeps what
// OpenConfig cannot express.
func removePolicy(ctx context.Context, s tree.Setting, port string, any bool) error {
	queues, err := readPortQueues(ctx, s)
	if err != nil {
		return err
	}
	rows, err := kit.RawTable(ctx, s, schema.CfgScheduler, tree.Wildcard)
	if any && wholePolicy(port, queues, encoded(rows)) == "" {
		return err
	}
	for _, q := range queues {
		switch {
		case q.port != port || q.scheduler == "" || err != nil || !q.own() && any:
		case !q.own():
			err = fmt.Errorf("%s/%s: queue %s: %w", textOfPort(port), policyLeaf, q.number, errShared(q))
		default:
			err = writeQueue(ctx, s, q.key, "scheduler", "")
		}
	}
	return err
}

// inboundThrough returns the Through of the classifiers of ports. A port has one map for both versions of IP.
func inboundThrough() *tree.Through {
	const field = "dscp_to_tc_map"
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			port, kind := keys[0], keys[1]
			suffix, is := suffixes[kind]
			if !is {
				return fmt.Errorf("type %s: want %s or %s", kind, ipv4, ipv6)
			}
			checkInbound(s, port, kind+" "+port)
			s.Needs(inboundPath, "config/name", keys, inboundThere, nil)
			if leaf != "config/name" {
				return nil
			}
			name, of, ok := mapOf(v[0])
			if !ok || of != kind {
				return fmt.Errorf("%s: want the name of a classifier of type %s, which ends in %s", tree.Quoted(v[0]), kind, suffix)
			}
			m, err := readPort(ctx, s, port)
			switch {
			case err != nil:
				return err
			case m.key == "":
				m.key = port
				err = kit.MakeRaw(ctx, s, schema.CfgPortQoS, port)
			case !m.own():
				s.Later("shared "+m.key+" "+port, "", nil)
				if m.DSCPToTC != name {
					err = errSharedMaps(m)
				}
				return err
			}
			if m.DSCPToTC != name {
				checkInbound(s, port, changed+port)
			}
			return errors.Join(err, kit.WriteRaw(ctx, s, schema.CfgPortQoS, m.key, kit.Text(field), keys, []string{name}))
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if !within(inboundPath+"/config/name", n) {
				return nil
			}
			if whole {
				s.Forgo(inboundPath, pattern)
			}
			rows, err := kit.RawTable(ctx, s, schema.CfgPortQoS, tree.Wildcard)
			for port, m := range readPorts(rows) {
				for kind := range suffixes {
					if !tree.Matches([]string{port, kind}, pattern) {
						continue
					}
					checkInbound(s, port, kind+" "+port)
					switch {
					case m.DSCPToTC == "" || !m.own() && pattern[0] == tree.Wildcard:
						continue
					case !m.own(): // the Set may give the same value again
						s.Later("shared "+m.key+" "+port, "", func(context.Context, []string) error {
							return fmt.Errorf("%s/input/classifiers: %w", textOfPort(port), errSharedMaps(m))
						})
						continue
					}
					checkInbound(s, port, changed+port)
					if !whole {
						s.Needs(inboundPath, "config/name", []string{port, kind}, inboundThere, nil)
					}
					err = errors.Join(err, kit.WriteRaw(ctx, s, schema.CfgPortQoS, m.key, kit.Text(field), pattern, nil))
				}
			}
			return err
		},
	}
}

func errSharedMaps(m portMaps) error {
	return fmt.Errorf("PORT_QOS_MAP|%s is for several ports: it is written in CONFIG_DB", m.key)
}

// readPort returns the row of PORT_QOS_MAP of a port, as the Set has left it so far. Its key is empty if there is none.
func readPort(ctx context.Context, s tree.Setting, port string) (portMaps, error) {
	rows, err := kit.RawTable(ctx, s, schema.CfgPortQoS, tree.Wildcard)
	return readPorts(rows)[port], err
}

// inboundThere finds the classifier of a port.
func inboundThere(ctx context.Context, s tree.Setting, keys []string) ([][]string, error) {
	m, err := readPort(ctx, s, keys[0])
	if m.DSCPToTC == "" {
		return nil, err
	}
	return [][]string{keys}, err
}

// checkInbound checks the classifiers of a port at the end of the Set.
func checkInbound(s tree.Setting, port, item string) {
	s.Later("inbound "+port, item, func(ctx context.Context, items []string) error {
		path := textOfPort(port) + "/input/classifiers/classifier"
		if _, without := oneSided(items); without != "" {
			return fmt.Errorf("%s[type=%s]: a port has one map for IPv4 and IPv6: want the same change of the classifier of "+
				"type %s in this Set", path, otherKind(without), without)
		}
		m, err := readPort(ctx, s, port)
		if err != nil || m.key == "" {
			return err
		}
		if m.DSCPToTC == "" {
			return removeEmpty(ctx, s, schema.CfgPortQoS, m.key)
		}
		row, err := kit.ReadRaw(ctx, s, schema.CfgDSCPToTC, m.DSCPToTC)
		if err == nil && row == nil && slices.Contains(items, changed+port) {
			err = fmt.Errorf("%s[type=%s]/config/name: there is no classifier %s", path, ipv4, m.DSCPToTC+suffixes[ipv4])
		}
		return err
	})
}

// profileThrough returns the Through of the WRED profiles of ports' queues.
func profileThrough() *tree.Through {
	const field = "wred_profile"
	text := func(port, queue string) string {
		return fmt.Sprintf("%s/output/queues/queue[name=%s]", textOfPort(port), queue)
	}
	shared := func(q portQueue) string { return "queue " + q.port + " " + q.number }
	at := func(ctx context.Context, s tree.Setting, pattern []string) ([]portQueue, error) {
		queues, err := readPortQueues(ctx, s)
		return slices.DeleteFunc(queues, func(q portQueue) bool {
			return !tree.Matches([]string{q.port, q.number}, pattern)
		}), err
	}
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			port, key := keys[0], keys[0]+"|"+keys[1]
			switch {
			case !isNumber(keys[1], mostQueue):
				return fmt.Errorf("name %s: want the number of the queue", tree.Quoted(keys[1]))
			case leaf == "":
				return nil
			}
			s.Later("profile of "+key, "", func(ctx context.Context, _ []string) error {
				row, err := kit.ReadRaw(ctx, s, schema.CfgQueue, key)
				name := tree.Record{Fields: row}.Field(field)
				if err != nil || name == "" {
					return err
				}
				if there, err := s.Match(ctx, wredPath, name); err != nil || len(there) > 0 {
					return err
				}
				return fmt.Errorf("%s/config/queue-management-profile: there is no queue-management-profile %s",
					text(port, keys[1]), name)
			})
			there, err := at(ctx, s, keys)
			if err != nil {
				return err
			}
			if len(there) > 0 && !there[0].own() {
				s.Later(shared(there[0]), "", nil)
				if there[0].wred != v[0] {
					return errShared(there[0])
				}
				return nil
			}
			return errors.Join(kit.MakeRaw(ctx, s, schema.CfgQueue, key),
				kit.WriteRaw(ctx, s, schema.CfgQueue, key, kit.Text(field), keys, v))
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, _ bool) error {
			if n.Type != nil && n.Name != "queue-management-profile" {
				return nil
			}
			there, err := at(ctx, s, pattern)
			for _, q := range there {
				switch {
				case err != nil || q.wred == "":
				case !q.own() && pattern[0] == tree.Wildcard: // no Set of all ports can mean this row
				case !q.own(): // the Set may give the same value again
					s.Later(shared(q), "", func(context.Context, []string) error {
						return fmt.Errorf("%s: %w", text(q.port, q.number), errShared(q))
					})
				default:
					err = writeQueue(ctx, s, q.key, field, "")
				}
			}
			return err
		},
	}
}
