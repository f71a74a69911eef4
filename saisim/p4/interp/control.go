package interp

import (
	"fmt"
	"math/big"
	"slices"

	"tamtam/saisim/p4"
)

// maxNotices bounds the digests and idle entries that are kept until they are read.
const maxNotices = 1 << 16

// A Digest is what a packet reported to the control plane.
type Digest struct {
	List   *p4.FieldList
	Cycle  uint64
	Packet int // number of the received packet
	Values []*big.Int
}

// An IdleEntry is an entry that no packet hit for its timeout. It is reported once until the next hit.
type IdleEntry struct {
	Table *p4.Table
	Entry *Entry
	Cycle uint64 // at which the timeout ended
}

// A Session is where clones go. Port and Group are -1 if they are not used.
type Session struct{ Port, Group int }

// A Node is a node of multicast groups: a replication id, ports, and link aggregation groups.
type Node struct {
	RID   int
	Ports []uint32
	Lags  []int
}

// A profile is the state of an action profile.
type profile struct {
	members map[int]*p4.ActionCall
	groups  map[int][]int // members in ascending order
}

// Digests returns the digests since the last call.
func (s *Switch) Digests() []Digest {
	d := s.digests
	s.digests = nil
	return d
}

// IdleEntries returns the entries that became idle since the last call.
func (s *Switch) IdleEntries() []IdleEntry {
	i := s.idle
	s.idle = nil
	return i
}

// expire reports entries whose timeout ends at a cycle or before.
func (s *Switch) expire(now uint64) {
	for _, t := range s.tables {
		if !t.timed {
			continue
		}
		for _, e := range t.slots {
			if e == nil || e.timeout == 0 || e.notified || now-e.used < e.timeout || now < e.used {
				continue
			}
			e.notified = true
			if len(s.idle) < maxNotices {
				s.idle = append(s.idle, IdleEntry{t.Table, e, e.used + e.timeout})
			}
		}
	}
}

// Reset removes all entries and settings but those of the program, and clears all state. Packets in queues stay.
func (s *Switch) Reset() error { return s.reset() }

// resultError returns an error if a result is not one of the table's.
func (s *Switch) resultError(t *table, r Result) error {
	switch {
	case r.Call == nil && t.Profile == nil:
		return fmt.Errorf("table %s: has no action profile, want an action", t.Name)
	case r.Call == nil && r.Group >= 0:
		if t.Profile.Selector == nil {
			return fmt.Errorf("table %s: action profile %s has no selector, want a member", t.Name, t.Profile.Name)
		}
		if _, ok := s.profiles[t.Profile.Index].groups[r.Group]; !ok {
			return fmt.Errorf("action profile %s: has no group %d (INVALID_GRP_HANDLE)", t.Profile.Name, r.Group)
		}
		return nil
	case r.Call == nil:
		if _, ok := s.profiles[t.Profile.Index].members[r.Member]; !ok {
			return fmt.Errorf("action profile %s: has no member %d (INVALID_MBR_HANDLE)", t.Profile.Name, r.Member)
		}
		return nil
	case t.Profile != nil:
		return fmt.Errorf("table %s: has action profile %s, want a member or a group", t.Name, t.Profile.Name)
	case !slices.Contains(t.Actions, r.Call.Action):
		return fmt.Errorf("table %s: has no action %s", t.Name, r.Call.Action.Name)
	}
	return callError(r.Call)
}

// callError returns an error if the arguments do not fit the action.
func callError(c *p4.ActionCall) error {
	if len(c.Data) != len(c.Action.Params) {
		return fmt.Errorf("action %s: %d arguments, want %d", c.Action.Name, len(c.Data), len(c.Action.Params))
	}
	for i, v := range c.Data {
		if p := c.Action.Params[i]; v.Sign() < 0 || v.BitLen() > p.Width {
			return fmt.Errorf("action %s: %s is %v, want at most %d bits", c.Action.Name, p.Name, v, p.Width)
		}
	}
	return nil
}

// AddEntry adds an entry to a table and returns its handle. Bits outside masks and prefixes are cleared. The priority
// is 0 for tables that have none.
func (s *Switch) AddEntry(t *p4.Table, match []p4.Match, r Result, priority int) (uint32, error) {
	state := s.tables[t.Index]
	if t.Const {
		return 0, fmt.Errorf("table %s: its entries are constant (IMMUTABLE_TABLE_ENTRIES)", t.Name)
	}
	if err := s.resultError(state, r); err != nil {
		return 0, err
	}
	e, err := state.add(match, r, priority, s.now)
	if err != nil {
		return 0, err
	}
	return e.Handle, nil
}

// ModifyEntry changes what an entry selects.
func (s *Switch) ModifyEntry(t *p4.Table, handle uint32, r Result) error {
	state := s.tables[t.Index]
	if t.Const {
		return fmt.Errorf("table %s: its entries are constant (IMMUTABLE_TABLE_ENTRIES)", t.Name)
	}
	if err := s.resultError(state, r); err != nil {
		return err
	}
	e, err := state.entry(handle)
	if err != nil {
		return err
	}
	e.Result = r
	return nil
}

// DeleteEntry removes an entry.
func (s *Switch) DeleteEntry(t *p4.Table, handle uint32) error {
	state := s.tables[t.Index]
	if t.Const {
		return fmt.Errorf("table %s: its entries are constant (IMMUTABLE_TABLE_ENTRIES)", t.Name)
	}
	e, err := state.entry(handle)
	if err != nil {
		return err
	}
	state.remove(e)
	return nil
}

// ClearTable removes all entries of a table.
func (s *Switch) ClearTable(t *p4.Table) error {
	state := s.tables[t.Index]
	if t.Const {
		return fmt.Errorf("table %s: its entries are constant (IMMUTABLE_TABLE_ENTRIES)", t.Name)
	}
	for _, e := range slices.Clone(state.slots) {
		if e != nil {
			state.remove(e)
		}
	}
	return nil
}

// Entries returns the entries of a table in the order of their slots.
func (s *Switch) Entries(t *p4.Table) []*Entry {
	var all []*Entry
	for _, e := range s.tables[t.Index].slots {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Entry returns the entry of a handle.
func (s *Switch) Entry(t *p4.Table, handle uint32) (*Entry, error) {
	return s.tables[t.Index].entry(handle)
}

// FindEntry returns the entry with exactly this key and priority.
func (s *Switch) FindEntry(t *p4.Table, match []p4.Match, priority int) (*Entry, error) {
	state := s.tables[t.Index]
	clean, err := state.matchError(match)
	if err != nil {
		return nil, err
	}
	if e := state.find(clean, priority); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("table %s: has no entry with this key", t.Name)
}

// Default returns what a miss selects, or nil.
func (s *Switch) Default(t *p4.Table) *Result { return s.tables[t.Index].fallback }

// SetDefault changes what a miss selects.
func (s *Switch) SetDefault(t *p4.Table, r Result) error {
	state := s.tables[t.Index]
	if err := s.resultError(state, r); err != nil {
		return err
	}
	if t.Default != nil && (t.ConstEntry || t.ConstAction && (r.Call == nil || r.Call.Action != t.Default.Action)) {
		return fmt.Errorf("table %s: its default is constant: %s (DEFAULT_ACTION_IS_CONST)", t.Name, t.Default.Action.Name)
	}
	state.fallback = &r
	return nil
}

// ResetDefault makes the default what it was when the program was loaded.
func (s *Switch) ResetDefault(t *p4.Table) { s.tables[t.Index].reset() }

// SetTimeout makes an entry idle after so many milliseconds without a hit; 0 means never.
func (s *Switch) SetTimeout(t *p4.Table, handle uint32, milliseconds uint64) error {
	state := s.tables[t.Index]
	if !t.Timeout {
		return fmt.Errorf("table %s: has no support for timeouts", t.Name)
	}
	e, err := state.entry(handle)
	if err != nil {
		return err
	}
	if milliseconds > 1<<32 {
		return fmt.Errorf("table %s: timeout of %d ms, want at most %d", t.Name, milliseconds, uint64(1<<32))
	}
	e.timeout, e.notified = milliseconds*(s.hz/1000)+milliseconds*(s.hz%1000)/1000, false
	state.timed = true
	return nil
}

// lowest returns the lowest number that is not a key of a map.
func lowest[V any](m map[int]V) int {
	for i := 0; ; i++ {
		if _, ok := m[i]; !ok {
			return i
		}
	}
}

// AddMember adds a member to an action profile and returns its handle.
func (s *Switch) AddMember(p *p4.Profile, a *p4.Action, data []*big.Int) (int, error) {
	call := &p4.ActionCall{Action: a, Data: data}
	if err := s.memberError(p, call); err != nil {
		return 0, err
	}
	state := s.profiles[p.Index]
	handle := lowest(state.members)
	state.members[handle] = call
	return handle, nil
}

func (s *Switch) memberError(p *p4.Profile, c *p4.ActionCall) error {
	if !slices.Contains(p.Actions, c.Action) {
		return fmt.Errorf("action profile %s: has no action %s", p.Name, c.Action.Name)
	}
	return callError(c)
}

// ModifyMember changes the action of a member.
func (s *Switch) ModifyMember(p *p4.Profile, handle int, a *p4.Action, data []*big.Int) error {
	call := &p4.ActionCall{Action: a, Data: data}
	if _, err := s.MemberCall(p, handle); err != nil {
		return err
	}
	if err := s.memberError(p, call); err != nil {
		return err
	}
	s.profiles[p.Index].members[handle] = call
	return nil
}

// DeleteMember removes a member that no entry, default or group uses.
func (s *Switch) DeleteMember(p *p4.Profile, handle int) error {
	if _, err := s.MemberCall(p, handle); err != nil {
		return err
	}
	for group, members := range s.profiles[p.Index].groups {
		if slices.Contains(members, handle) {
			return fmt.Errorf("action profile %s: member %d is in group %d (MBR_STILL_USED)", p.Name, handle, group)
		}
	}
	if t := s.user(p, func(r *Result) bool { return r.Call == nil && r.Group < 0 && r.Member == handle }); t != "" {
		return fmt.Errorf("action profile %s: member %d is used by table %s (MBR_STILL_USED)", p.Name, handle, t)
	}
	delete(s.profiles[p.Index].members, handle)
	return nil
}

// user returns the name of a table of the profile with a result that f accepts, or "".
func (s *Switch) user(p *p4.Profile, f func(*Result) bool) string {
	for _, t := range s.tables {
		if t.Profile != p {
			continue
		}
		if t.fallback != nil && f(t.fallback) {
			return t.Name
		}
		for _, e := range t.slots {
			if e != nil && f(&e.Result) {
				return t.Name
			}
		}
	}
	return ""
}

// MemberCall returns the action of a member.
func (s *Switch) MemberCall(p *p4.Profile, handle int) (*p4.ActionCall, error) {
	if c := s.profiles[p.Index].members[handle]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("action profile %s: has no member %d (INVALID_MBR_HANDLE)", p.Name, handle)
}

// AddGroup adds a group without members and returns its handle.
func (s *Switch) AddGroup(p *p4.Profile) (int, error) {
	if p.Selector == nil {
		return 0, fmt.Errorf("action profile %s: has no selector, so it has no groups", p.Name)
	}
	state := s.profiles[p.Index]
	handle := lowest(state.groups)
	state.groups[handle] = []int{}
	return handle, nil
}

// DeleteGroup removes a group that no entry or default uses.
func (s *Switch) DeleteGroup(p *p4.Profile, handle int) error {
	if _, err := s.GroupMembers(p, handle); err != nil {
		return err
	}
	if t := s.user(p, func(r *Result) bool { return r.Call == nil && r.Group == handle }); t != "" {
		return fmt.Errorf("action profile %s: group %d is used by table %s (GRP_STILL_USED)", p.Name, handle, t)
	}
	delete(s.profiles[p.Index].groups, handle)
	return nil
}

// GroupMembers returns the members of a group in ascending order.
func (s *Switch) GroupMembers(p *p4.Profile, handle int) ([]int, error) {
	if m, ok := s.profiles[p.Index].groups[handle]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("action profile %s: has no group %d (INVALID_GRP_HANDLE)", p.Name, handle)
}

// ChangeGroup adds a member to a group, or removes it.
func (s *Switch) ChangeGroup(p *p4.Profile, group, member int, add bool) error {
	members, err := s.GroupMembers(p, group)
	if err != nil {
		return err
	}
	if _, err := s.MemberCall(p, member); err != nil {
		return err
	}
	at, found := slices.BinarySearch(members, member)
	switch {
	case add && found:
		return fmt.Errorf("action profile %s: member %d is in group %d already (MBR_ALREADY_IN_GRP)", p.Name, member, group)
	case add:
		members = slices.Insert(slices.Clone(members), at, member)
	case !found:
		return fmt.Errorf("action profile %s: member %d is not in group %d (MBR_NOT_IN_GRP)", p.Name, member, group)
	default:
		members = slices.Delete(slices.Clone(members), at, at+1)
	}
	s.profiles[p.Index].groups[group] = members
	return nil
}

// Handles returns the handles of the members and of the groups of an action profile, in ascending order.
func (s *Switch) Handles(p *p4.Profile) (members, groups []int) {
	for h := range s.profiles[p.Index].members {
		members = append(members, h)
	}
	for h := range s.profiles[p.Index].groups {
		groups = append(groups, h)
	}
	slices.Sort(members)
	slices.Sort(groups)
	return members, groups
}

// SetSession sets where the clones of a session go, or removes the session if its port and group are both negative.
func (s *Switch) SetSession(id int, to Session) error {
	if id < 0 || id > 0x7fff {
		return fmt.Errorf("clone session %d, want 0 to 32767", id)
	}
	if to.Port < 0 && to.Group < 0 {
		delete(s.sessions, id)
		return nil
	}
	s.sessions[id] = to
	return nil
}

// Session returns where the clones of a session go, and whether it exists.
func (s *Switch) Session(id int) (Session, bool) {
	to, ok := s.sessions[id]
	return to, ok
}
