package control

import (
	"fmt"
	"strconv"
	"strings"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/interp"
)

// A profileCommand is a command on an action profile.
type profileCommand func(*CLI, *p4.Profile, []string) error

// both returns the command with the name of a profile, and the older one with the name of a table that uses it.
func both(f profileCommand) (byProfile, byTable func(*CLI, []string) error) {
	byProfile = func(c *CLI, args []string) error {
		p, err := find(args[0], "action profile", c.Program.Profiles, func(p *p4.Profile) string { return p.Name })
		if err != nil {
			return err
		}
		return f(c, p, args[1:])
	}
	byTable = withTable(func(c *CLI, t *p4.Table, args []string) error {
		if t.Profile == nil {
			return fmt.Errorf("table %s has no action profile", t.Name)
		}
		return f(c, t.Profile, args)
	})
	return byProfile, byTable
}

func addProfileCommands() {
	for _, of := range []struct {
		profile, table, usage string
		low, high             int
		run                   profileCommand
	}{
		{"create_member", "create_member", "ACTION [ARGUMENT...]", 2, -1, createMember},
		{"delete_member", "delete_member", "MEMBER", 2, 2, onHandle((*interp.Switch).DeleteMember)},
		{"modify_member", "modify_member", "ACTION MEMBER [ARGUMENT...]", 3, -1, modifyMember},
		{"create_group", "create_group", "", 1, 1, createGroup},
		{"delete_group", "delete_group", "GROUP", 2, 2, onHandle((*interp.Switch).DeleteGroup)},
		{"add_member_to_group", "add_member_to_group", "MEMBER GROUP", 3, 3, changeGroup(true)},
		{"remove_member_from_group", "remove_member_from_group", "MEMBER GROUP", 3, 3, changeGroup(false)},
		{"dump", "", "", 1, 1, func(c *CLI, p *p4.Profile, _ []string) error { return dumpProfile(c, p) }},
		{"dump_member", "table_dump_member", "MEMBER", 2, 2, onNumber(dumpMember)},
		{"dump_group", "table_dump_group", "GROUP", 2, 2, onNumber(dumpGroup)},
	} {
		byProfile, byTable := both(of.run)
		commands["act_prof_"+of.profile] = command{"PROFILE " + of.usage, of.low, of.high, byProfile}
		switch {
		case of.table == "":
		case strings.HasPrefix(of.table, "table_"):
			commands[of.table] = command{"TABLE " + of.usage, of.low, of.high, byTable}
		default:
			commands["table_indirect_"+of.table] = command{"TABLE " + of.usage, of.low, of.high, byTable}
		}
	}
}

func createMember(c *CLI, p *p4.Profile, args []string) error {
	a, err := actionOf(args[0], p.Actions)
	if err != nil {
		return fmt.Errorf("action profile %s: %w", p.Name, err)
	}
	data, err := arguments(args[1:], a)
	if err != nil {
		return err
	}
	h, err := c.AddMember(p, a, data)
	if err == nil {
		c.printf("Member has been created with handle %d\n", h)
	}
	return err
}

func modifyMember(c *CLI, p *p4.Profile, args []string) error {
	a, err := actionOf(args[0], p.Actions)
	if err != nil {
		return fmt.Errorf("action profile %s: %w", p.Name, err)
	}
	h, err := number(args[1], "member", 0, 1<<31-1)
	if err != nil {
		return err
	}
	data, err := arguments(args[2:], a)
	if err != nil {
		return err
	}
	return c.ModifyMember(p, h, a, data)
}

func createGroup(c *CLI, p *p4.Profile, _ []string) error {
	h, err := c.AddGroup(p)
	if err == nil {
		c.printf("Group has been created with handle %d\n", h)
	}
	return err
}

// onNumber makes a command of a function on a handle.
func onNumber(f func(*CLI, *p4.Profile, int) error) profileCommand {
	return func(c *CLI, p *p4.Profile, args []string) error {
		h, err := number(args[0], "handle", 0, 1<<31-1)
		if err != nil {
			return err
		}
		return f(c, p, h)
	}
}

func onHandle(f func(*interp.Switch, *p4.Profile, int) error) profileCommand {
	return onNumber(func(c *CLI, p *p4.Profile, h int) error { return f(c.Switch, p, h) })
}

func changeGroup(add bool) profileCommand {
	return func(c *CLI, p *p4.Profile, args []string) error {
		member, err := number(args[0], "member", 0, 1<<31-1)
		if err != nil {
			return err
		}
		group, err := number(args[1], "group", 0, 1<<31-1)
		if err != nil {
			return err
		}
		return c.ChangeGroup(p, group, member, add)
	}
}

// dumpCall prints an action with its arguments, in as few bytes as they need.
func (c *CLI) dumpCall(call *p4.ActionCall) {
	var data []string
	for _, v := range call.Data {
		data = append(data, fmt.Sprintf("%x", v.FillBytes(make([]byte, max(1, (v.BitLen()+7)/8)))))
	}
	c.printf("Action entry: %s - %s\n", call.Action.Name, strings.Join(data, ", "))
}

func (c *CLI) dumpResult(r *interp.Result) {
	switch {
	case r == nil:
		c.printf("EMPTY\n")
	case r.Call != nil:
		c.dumpCall(r.Call)
	case r.Group >= 0:
		c.printf("Index: group(%d)\n", r.Group)
	default:
		c.printf("Index: member(%d)\n", r.Member)
	}
}

func dumpMember(c *CLI, p *p4.Profile, h int) error {
	call, err := c.MemberCall(p, h)
	if err != nil {
		return err
	}
	c.printf("Dumping member %d\n", h)
	c.dumpCall(call)
	return nil
}

func dumpGroup(c *CLI, p *p4.Profile, h int) error {
	members, err := c.GroupMembers(p, h)
	if err != nil {
		return err
	}
	var texts []string
	for _, m := range members {
		texts = append(texts, strconv.Itoa(m))
	}
	c.printf("Dumping group %d\nMembers: [%s]\n", h, strings.Join(texts, ", "))
	return nil
}

func dumpProfile(c *CLI, p *p4.Profile) error {
	members, groups := c.Handles(p)
	c.printf("==========\nMEMBERS\n")
	for _, h := range members {
		c.printf("**********\n")
		if err := dumpMember(c, p, h); err != nil {
			return err
		}
	}
	if p.Selector == nil {
		return nil
	}
	c.printf("==========\nGROUPS\n")
	for _, h := range groups {
		c.printf("**********\n")
		if err := dumpGroup(c, p, h); err != nil {
			return err
		}
	}
	return nil
}

func dumpTable(c *CLI, t *p4.Table, _ []string) error {
	c.printf("==========\nTABLE ENTRIES\n")
	for _, e := range c.Entries(t) {
		c.printf("**********\n")
		c.dumpEntry(t, e)
	}
	if t.Profile != nil {
		if err := dumpProfile(c, t.Profile); err != nil {
			return err
		}
	}
	c.printf("==========\nDumping default entry\n")
	c.dumpResult(c.Default(t))
	c.printf("==========\n")
	return nil
}

func dumpHandle(c *CLI, t *p4.Table, args []string) error {
	h, err := handle(args[0])
	if err != nil {
		return err
	}
	e, err := c.Entry(t, h)
	if err != nil {
		return err
	}
	c.dumpEntry(t, e)
	return nil
}

func dumpFromKey(c *CLI, t *p4.Table, args []string) error {
	words, priority, err := priorityOf(t, args)
	if err != nil {
		return err
	}
	match, err := key(t, words)
	if err != nil {
		return err
	}
	e, err := c.FindEntry(t, match, priority)
	if err != nil {
		return err
	}
	c.dumpEntry(t, e)
	return nil
}

// dumpEntry prints an entry as simple_switch_CLI does.
func (c *CLI) dumpEntry(t *p4.Table, e *interp.Entry) {
	width := 20
	for _, k := range t.Key {
		width = max(width, len(k.Field.String()))
	}
	c.printf("Dumping entry %#x\nMatch key:\n", e.Handle)
	for i, m := range e.Given {
		k := t.Key[i]
		size := (k.Field.Width() + 7) / 8
		text := fmt.Sprintf("%x", m.Value.FillBytes(make([]byte, size)))
		switch m.Kind {
		case p4.LPM:
			text += "/" + strconv.Itoa(m.Prefix)
		case p4.Ternary:
			text += fmt.Sprintf(" &&& %x", m.Mask.FillBytes(make([]byte, size)))
		case p4.Range:
			text += fmt.Sprintf(" -> %x", m.High.FillBytes(make([]byte, size)))
		}
		c.printf("* %-*s: %-10s%s\n", width, strings.Replace(k.Field.String(), ".$valid$", "_valid", 1),
			strings.ToUpper(string(m.Kind)), text)
	}
	if ranked(t) {
		c.printf("Priority: %d\n", e.Priority)
	}
	c.dumpResult(&e.Result)
}
