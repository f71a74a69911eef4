package control

import (
	"fmt"
	"slices"

	"tamtam/saisim/p4/interp"
)

// maxPort is the largest number of a port.
const maxPort = 1<<16 - 1

// numbers returns one number from each word.
func numbers(words []string, name string, high int) ([]int, error) {
	var all []int
	for _, w := range words {
		n, err := number(w, name, 0, high)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// withNumbers makes a command of a function on numbers.
func withNumbers(name string, high int, f func(*CLI, []int) error) func(*CLI, []string) error {
	return func(c *CLI, args []string) error {
		n, err := numbers(args, name, high)
		if err != nil {
			return err
		}
		return f(c, n)
	}
}

// node reads a replication id, ports, and link aggregation groups after |.
func node(rid string, words []string) (interp.Node, error) {
	id, err := number(rid, "replication id", 0, 1<<16-1)
	if err != nil {
		return interp.Node{}, err
	}
	n := interp.Node{RID: id}
	ports, lags := words, []string(nil)
	if at := slices.Index(words, "|"); at >= 0 {
		ports, lags = words[:at], words[at+1:]
	}
	list, err := numbers(ports, "port", maxPort)
	if err != nil {
		return interp.Node{}, err
	}
	for _, p := range list {
		n.Ports = append(n.Ports, uint32(p))
	}
	n.Lags, err = numbers(lags, "link aggregation group", maxPort)
	return n, err
}

func createNode(c *CLI, args []string) error {
	n, err := node(args[0], args[1:])
	if err == nil {
		c.printf("node was created with handle %d\n", c.AddNode(n))
	}
	return err
}

func updateNode(c *CLI, args []string) error {
	h, err := number(args[0], "node", 0, 1<<31-1)
	if err != nil {
		return err
	}
	old, err := c.Node(h)
	if err != nil {
		return err
	}
	n, err := node("0", args[1:])
	if err == nil {
		n.RID = old.RID
		c.SetNode(h, n)
	}
	return err
}

func setLag(c *CLI, args []string) error {
	n, err := numbers(args, "port", maxPort)
	if err != nil {
		return err
	}
	var ports []uint32
	for _, p := range n[1:] {
		ports = append(ports, uint32(p))
	}
	c.SetLag(n[0], ports)
	return nil
}

// setQueues makes a command that sets a value of queues: of all, of a port, or of a port's priority.
func setQueues(name string, f func(q *interp.IdealQueues, v, port, priority int)) func(*CLI, []string) error {
	return func(c *CLI, args []string) error {
		q := c.Ideal()
		if q == nil {
			return fmt.Errorf("the queues of this switch have no %s that can be set", name)
		}
		v, err := number(args[0], name, 0, 1<<40)
		if err != nil {
			return err
		}
		where, err := numbers(args[1:], "port or priority", maxPort)
		if err != nil {
			return err
		}
		where = append(where, -1, -1)
		f(q, v, where[0], where[1])
		return nil
	}
}

func addReplicationCommands() {
	const id = 1<<31 - 1
	session := func(c *CLI, n []int, to interp.Session) error { return c.SetSession(n[0], to) }
	for name, cmd := range map[string]command{
		"mirroring_add": {"SESSION PORT", 2, 2, withNumbers("session or port", maxPort, func(c *CLI, n []int) error {
			return session(c, n, interp.Session{Port: n[1], Group: -1})
		})},
		"mirroring_add_mc": {"SESSION GROUP", 2, 2, withNumbers("session or group", maxPort, func(c *CLI, n []int) error {
			return session(c, n, interp.Session{Port: -1, Group: n[1]})
		})},
		"mirroring_delete": {"SESSION", 1, 1, withNumbers("session", maxPort, func(c *CLI, n []int) error {
			if _, ok := c.Session(n[0]); !ok {
				return fmt.Errorf("session %d does not exist", n[0])
			}
			return session(c, n, interp.Session{Port: -1, Group: -1})
		})},
		"mc_mgrp_create": {"GROUP", 1, 1, withNumbers("group", id, func(c *CLI, n []int) error {
			return c.AddMulticastGroup(n[0])
		})},
		"mc_mgrp_destroy": {"GROUP", 1, 1, withNumbers("group", id, func(c *CLI, n []int) error {
			return c.DeleteMulticastGroup(n[0])
		})},
		"mc_node_create": {"RID PORT... [| LAG...]", 1, -1, createNode},
		"mc_node_update": {"NODE PORT... [| LAG...]", 2, -1, updateNode},
		"mc_node_associate": {"GROUP NODE", 2, 2, withNumbers("group or node", id, func(c *CLI, n []int) error {
			return c.Associate(n[0], n[1], true)
		})},
		"mc_node_dissociate": {"GROUP NODE", 2, 2, withNumbers("group or node", id, func(c *CLI, n []int) error {
			return c.Associate(n[0], n[1], false)
		})},
		"mc_node_destroy": {"NODE", 1, 1, withNumbers("node", id, func(c *CLI, n []int) error {
			return c.DeleteNode(n[0])
		})},
		"mc_set_lag_membership": {"LAG PORT...", 2, -1, setLag},
		"set_queue_depth": {"PACKETS [PORT [PRIORITY]]", 1, 3,
			setQueues("depth", func(q *interp.IdealQueues, v, port, priority int) { q.SetSize(v, port, priority) })},
		"set_queue_rate": {"PACKETS-PER-SECOND [PORT [PRIORITY]]", 1, 3,
			setQueues("rate", func(q *interp.IdealQueues, v, port, priority int) { q.SetRate(uint64(v), port, priority) })},
	} {
		commands[name] = cmd
	}
}
