package interp

import (
	"fmt"
	"math/big"
	"slices"

	"tamtam/saisim/p4"
)

// indexError returns an error for an index outside an array.
func indexError(kind, name string, i, size int) error {
	if i >= 0 && i < size {
		return nil
	}
	return fmt.Errorf("%s %s: index %d, want 0 to %d (INVALID_INDEX)", kind, name, i, size-1)
}

// register returns an element that exists.
func (s *Switch) register(r *p4.Register, i int) *big.Int {
	if v := s.registers[r.Index][i]; v != nil {
		return v
	}
	return zero
}

// Register returns an element of a register array.
func (s *Switch) Register(r *p4.Register, i int) (*big.Int, error) {
	if err := indexError("register", r.Name, i, r.Size); err != nil {
		return nil, err
	}
	return s.register(r, i), nil
}

// SetRegister writes an element of a register array.
func (s *Switch) SetRegister(r *p4.Register, i int, v *big.Int) error {
	if err := indexError("register", r.Name, i, r.Size); err != nil {
		return err
	}
	if v.Sign() < 0 || v.BitLen() > r.Width {
		return fmt.Errorf("register %s: value %v, want at most %d bits", r.Name, v, r.Width)
	}
	s.registers[r.Index][i] = v
	return nil
}

// ResetRegister sets all elements of a register array to 0.
func (s *Switch) ResetRegister(r *p4.Register) { s.registers[r.Index] = map[int]*big.Int{} }

// Counter returns an element of a counter array that is not direct.
func (s *Switch) Counter(c *p4.Counter, i int) (Count, error) {
	if err := indexError("counter", c.Name, i, c.Size); err != nil {
		return Count{}, err
	}
	return s.counters[c.Index][i], nil
}

// SetCounter writes an element of a counter array that is not direct.
func (s *Switch) SetCounter(c *p4.Counter, i int, v Count) error {
	if err := indexError("counter", c.Name, i, c.Size); err != nil {
		return err
	}
	s.counters[c.Index][i] = v
	return nil
}

// ResetCounter sets a counter array to 0, with the counters of the table's entries if it is direct.
func (s *Switch) ResetCounter(c *p4.Counter) {
	s.counters[c.Index] = map[int]Count{}
	for _, t := range s.tables {
		if t.Table.Counter != c {
			continue
		}
		for _, e := range t.slots {
			if e != nil {
				e.Count = Count{}
			}
		}
	}
}

// ratesError returns an error unless there is one rate for each bucket and the rates do not fall.
func ratesError(m *p4.Meter, rates []Rate) error {
	if len(rates) != m.Rates {
		return fmt.Errorf("meter %s: %d rates, want %d", m.Name, len(rates), m.Rates)
	}
	for i, r := range rates {
		if r.PerMicrosecond.Sign() < 0 || i > 0 && r.PerMicrosecond.Cmp(rates[i-1].PerMicrosecond) < 0 {
			return fmt.Errorf("meter %s: rate %d is %s, want 0 or more and not below the rate before it "+
				"(INVALID_INFO_RATE_VALUE)", m.Name, i+1, r.PerMicrosecond.RatString())
		}
	}
	return nil
}

// SetMeter configures an element of a meter array. Its buckets are full then.
func (s *Switch) SetMeter(m *p4.Meter, i int, rates []Rate) error {
	if err := indexError("meter", m.Name, i, m.Size); err != nil {
		return err
	}
	if err := ratesError(m, rates); err != nil {
		return err
	}
	s.meter(m, i).configure(slices.Clone(rates), s.now)
	return nil
}

// SetMeters configures all elements of a meter array.
func (s *Switch) SetMeters(m *p4.Meter, rates []Rate) error {
	if err := ratesError(m, rates); err != nil {
		return err
	}
	s.meters[m.Index] = meterArray{elements: map[int]*meter{}, all: slices.Clone(rates)}
	for _, t := range s.tables {
		if t.Meter != m {
			continue
		}
		for _, e := range t.slots {
			if e != nil {
				e.meter.configure(slices.Clone(rates), s.now)
			}
		}
	}
	return nil
}

// MeterRates returns the rates of an element of a meter array, or none if it is not configured.
func (s *Switch) MeterRates(m *p4.Meter, i int) ([]Rate, error) {
	if err := indexError("meter", m.Name, i, m.Size); err != nil {
		return nil, err
	}
	return s.meter(m, i).rates, nil
}

// SetEntryMeter configures the direct meter of an entry.
func (s *Switch) SetEntryMeter(t *p4.Table, handle uint32, rates []Rate) error {
	e, err := s.tables[t.Index].entry(handle)
	if err != nil {
		return err
	}
	if t.Meter == nil {
		return fmt.Errorf("table %s: has no direct meter", t.Name)
	}
	if err := ratesError(t.Meter, rates); err != nil {
		return err
	}
	e.meter.configure(slices.Clone(rates), s.now)
	return nil
}

// EntryMeter returns the rates of the direct meter of an entry, or none if it is not configured.
func (s *Switch) EntryMeter(t *p4.Table, handle uint32) ([]Rate, error) {
	e, err := s.tables[t.Index].entry(handle)
	if err != nil {
		return nil, err
	}
	if t.Meter == nil {
		return nil, fmt.Errorf("table %s: has no direct meter", t.Name)
	}
	return e.meter.rates, nil
}

// AddValue adds a value to a value set. A value that is there already is not added again.
func (s *Switch) AddValue(set *p4.ValueSet, v *big.Int) error {
	if v.Sign() < 0 || v.BitLen() > set.Width {
		return fmt.Errorf("value set %s: value %v, want at most %d bits", set.Name, v, set.Width)
	}
	if !slices.ContainsFunc(s.sets[set.Index], func(o *big.Int) bool { return o.Cmp(v) == 0 }) {
		s.sets[set.Index] = append(s.sets[set.Index], v)
	}
	return nil
}

// RemoveValue removes a value from a value set, if it is there.
func (s *Switch) RemoveValue(set *p4.ValueSet, v *big.Int) {
	s.sets[set.Index] = slices.DeleteFunc(s.sets[set.Index], func(o *big.Int) bool { return o.Cmp(v) == 0 })
}

// Values returns the values of a value set, in the order in which they were added.
func (s *Switch) Values(set *p4.ValueSet) []*big.Int {
	return slices.Clone(s.sets[set.Index])
}

// ClearValues removes all values of a value set.
func (s *Switch) ClearValues(set *p4.ValueSet) { s.sets[set.Index] = nil }

// SetCRC changes the parameters of a calculation with a custom check of so many bits.
func (s *Switch) SetCRC(name string, width int, parameters CRC) error {
	for c := range s.custom {
		if c.Name == name && c.Algorithm == fmt.Sprintf("crc%d_custom", width) {
			s.custom[c] = parameters
			return nil
		}
	}
	return fmt.Errorf("calculation %s: want the name of one with algorithm crc%d_custom", name, width)
}

// Ideal returns the ideal queues of the switch, or nil if its queues are others.
func (s *Switch) Ideal() *IdealQueues { return s.ideal }

// AddMulticastGroup makes a multicast group.
func (s *Switch) AddMulticastGroup(group int) error {
	if _, ok := s.groups[group]; ok || group < 1 || group > 0xffff {
		return fmt.Errorf("multicast group %d: want a new one from 1 to 65535", group)
	}
	s.groups[group] = nil
	return nil
}

// DeleteMulticastGroup removes a multicast group.
func (s *Switch) DeleteMulticastGroup(group int) error {
	if _, ok := s.groups[group]; !ok {
		return fmt.Errorf("multicast group %d does not exist", group)
	}
	delete(s.groups, group)
	return nil
}

// AddNode makes a multicast node and returns its handle.
func (s *Switch) AddNode(n Node) int {
	handle := lowest(s.nodes)
	s.SetNode(handle, n)
	return handle
}

// SetNode changes a multicast node.
func (s *Switch) SetNode(handle int, n Node) {
	slices.Sort(n.Ports)
	slices.Sort(n.Lags)
	n.Ports, n.Lags = slices.Compact(n.Ports), slices.Compact(n.Lags)
	s.nodes[handle] = &n
}

// Node returns a multicast node.
func (s *Switch) Node(handle int) (*Node, error) {
	if n := s.nodes[handle]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("multicast node %d does not exist", handle)
}

// DeleteNode removes a multicast node from all groups.
func (s *Switch) DeleteNode(handle int) error {
	if _, err := s.Node(handle); err != nil {
		return err
	}
	for g, nodes := range s.groups {
		s.groups[g] = slices.DeleteFunc(nodes, func(n int) bool { return n == handle })
	}
	delete(s.nodes, handle)
	return nil
}

// Associate adds a node to a multicast group, or removes it.
func (s *Switch) Associate(group, node int, add bool) error {
	nodes, ok := s.groups[group]
	if !ok {
		return fmt.Errorf("multicast group %d does not exist", group)
	}
	if _, err := s.Node(node); err != nil {
		return err
	}
	at := slices.Index(nodes, node)
	switch {
	case add && at >= 0:
		return fmt.Errorf("multicast group %d has node %d already", group, node)
	case add:
		s.groups[group] = append(nodes, node)
	case at < 0:
		return fmt.Errorf("multicast group %d has no node %d", group, node)
	default:
		s.groups[group] = slices.Delete(nodes, at, at+1)
	}
	return nil
}

// SetLag sets the ports of a link aggregation group. A multicast copy leaves by the first of them.
func (s *Switch) SetLag(lag int, ports []uint32) {
	ports = slices.Clone(ports)
	slices.Sort(ports)
	s.lags[lag] = ports
}
