package control

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"tamtam/saisim/p4"
	"tamtam/saisim/p4/interp"
)

// withNamed makes a command of a function on an object with a name.
func withNamed[T any](kind string, all func(*p4.Program) []T, name func(T) string,
	f func(*CLI, T, []string) error) func(*CLI, []string) error {
	return func(c *CLI, args []string) error {
		o, err := find(args[0], kind, all(c.Program), name)
		if err != nil {
			return err
		}
		return f(c, o, args[1:])
	}
}

func onMeter(f func(*CLI, *p4.Meter, []string) error) func(*CLI, []string) error {
	return withNamed("meter", func(p *p4.Program) []*p4.Meter { return p.Meters },
		func(m *p4.Meter) string { return m.Name }, f)
}

func onCounter(f func(*CLI, *p4.Counter, []string) error) func(*CLI, []string) error {
	return withNamed("counter", func(p *p4.Program) []*p4.Counter { return p.Counters },
		func(m *p4.Counter) string { return m.Name }, f)
}

func onRegister(f func(*CLI, *p4.Register, []string) error) func(*CLI, []string) error {
	return withNamed("register", func(p *p4.Program) []*p4.Register { return p.Registers },
		func(m *p4.Register) string { return m.Name }, f)
}

func onSet(f func(*CLI, *p4.ValueSet, []string) error) func(*CLI, []string) error {
	return withNamed("value set", func(p *p4.Program) []*p4.ValueSet { return p.ValueSets },
		func(m *p4.ValueSet) string { return m.Name }, f)
}

func addArrayCommands() {
	for name, cmd := range map[string]command{
		"meter_array_set_rates": {"METER RATE:BURST...", 2, -1, onMeter(func(c *CLI, m *p4.Meter, args []string) error {
			r, err := rates(args)
			if err != nil {
				return err
			}
			return c.SetMeters(m, r)
		})},
		"meter_set_rates": {"METER INDEX RATE:BURST...", 3, -1, onMeter(setMeter)},
		"meter_get_rates": {"METER INDEX", 2, 2, onMeter(getMeter)},
		"counter_read":    {"COUNTER INDEX", 2, 2, onCounter(readCounter)},
		"counter_write":   {"COUNTER INDEX PACKETS BYTES", 4, 4, onCounter(writeCounter)},
		"counter_reset": {"COUNTER", 1, 1, onCounter(func(c *CLI, o *p4.Counter, _ []string) error {
			c.ResetCounter(o)
			return nil
		})},
		"register_read":  {"REGISTER [INDEX]", 1, 2, onRegister(readRegister)},
		"register_write": {"REGISTER INDEX VALUE", 3, 3, onRegister(writeRegister)},
		"register_reset": {"REGISTER", 1, 1, onRegister(func(c *CLI, r *p4.Register, _ []string) error {
			c.ResetRegister(r)
			return nil
		})},
		"pvs_add":    {"SET VALUE", 2, 2, onSet(changeSet)},
		"pvs_remove": {"SET VALUE", 2, 2, onSet(removeFromSet)},
		"pvs_get":    {"SET", 1, 1, onSet(printSet)},
		"pvs_clear": {"SET", 1, 1, onSet(func(c *CLI, s *p4.ValueSet, _ []string) error {
			c.ClearValues(s)
			return nil
		})},
		"set_crc16_parameters": {crcUsage, 6, 6, setCRC(16)},
		"set_crc32_parameters": {crcUsage, 6, 6, setCRC(32)},
		"reset_state":          {"", 0, 0, func(c *CLI, _ []string) error { return c.Reset() }},
	} {
		commands[name] = cmd
	}
}

// tableOf returns the table of a direct counter or meter.
func (c *CLI) tableOf(name string) (*p4.Table, error) {
	return find(name, "table", tables(c.Program), func(t *p4.Table) string { return t.Name })
}

func setMeter(c *CLI, m *p4.Meter, args []string) error {
	r, err := rates(args[1:])
	if err != nil {
		return err
	}
	i, err := number(args[0], "index", 0, 1<<32-1)
	if err != nil {
		return err
	}
	if !m.Direct {
		return c.SetMeter(m, i, r)
	}
	t, err := c.tableOf(m.Table)
	if err != nil {
		return err
	}
	return c.SetEntryMeter(t, uint32(i), r)
}

func getMeter(c *CLI, m *p4.Meter, args []string) error {
	i, err := number(args[0], "index", 0, 1<<32-1)
	if err != nil {
		return err
	}
	var r []interp.Rate
	if m.Direct {
		var t *p4.Table
		if t, err = c.tableOf(m.Table); err == nil {
			r, err = c.EntryMeter(t, uint32(i))
		}
	} else {
		r, err = c.MeterRates(m, i)
	}
	if err != nil {
		return err
	}
	for i, rate := range r {
		text := strings.TrimRight(rate.PerMicrosecond.FloatString(12), "0")
		if strings.HasSuffix(text, ".") {
			text += "0"
		}
		c.printf("%d: info rate = %s, burst size = %d\n", i, text, rate.Burst)
	}
	return nil
}

func readCounter(c *CLI, o *p4.Counter, args []string) error {
	i, err := number(args[0], "index", 0, 1<<32-1)
	if err != nil {
		return err
	}
	var v interp.Count
	if o.Direct {
		t, err := c.tableOf(o.Table)
		if err != nil {
			return err
		}
		e, err := c.Entry(t, uint32(i))
		if err != nil {
			return err
		}
		c.printf("this is the direct counter for table %s\n", t.Name)
		v = e.Count
	} else if v, err = c.Counter(o, i); err != nil {
		return err
	}
	c.printf("%s[%d]= (%d bytes, %d packets)\n", o.Name, i, v.Bytes, v.Packets)
	return nil
}

func writeCounter(c *CLI, o *p4.Counter, args []string) error {
	var n [3]int
	for i, name := range []string{"index", "packets", "bytes"} {
		var err error
		if n[i], err = number(args[i], name, 0, 1<<62); err != nil {
			return err
		}
	}
	v := interp.Count{Packets: uint64(n[1]), Bytes: uint64(n[2])}
	if !o.Direct {
		return c.SetCounter(o, n[0], v)
	}
	t, err := c.tableOf(o.Table)
	if err != nil {
		return err
	}
	e, err := c.Entry(t, uint32(n[0]))
	if err == nil {
		e.Count = v
	}
	return err
}

func readRegister(c *CLI, r *p4.Register, args []string) error {
	if len(args) == 0 {
		const most = 65536
		if r.Size > most {
			return fmt.Errorf("register %s has %d elements, want an index", r.Name, r.Size)
		}
		var all []string
		for i := range r.Size {
			v, err := c.Register(r, i)
			if err != nil {
				return err
			}
			all = append(all, v.String())
		}
		c.printf("%s= %s\n", r.Name, strings.Join(all, ", "))
		return nil
	}
	i, err := number(args[0], "index", 0, 1<<32-1)
	if err != nil {
		return err
	}
	v, err := c.Register(r, i)
	if err == nil {
		c.printf("%s[%d]= %s\n", r.Name, i, v)
	}
	return err
}

func writeRegister(c *CLI, r *p4.Register, args []string) error {
	i, err := number(args[0], "index", 0, 1<<32-1)
	if err != nil {
		return err
	}
	v, err := value(args[1], r.Width)
	if err != nil {
		return err
	}
	return c.SetRegister(r, i, v)
}

func setValue(s *p4.ValueSet, args []string) (*big.Int, error) {
	v, err := value(args[0], s.Width)
	if err != nil {
		return nil, fmt.Errorf("value set %s: %w", s.Name, err)
	}
	return v, nil
}

func changeSet(c *CLI, s *p4.ValueSet, args []string) error {
	v, err := setValue(s, args)
	if err != nil {
		return err
	}
	return c.AddValue(s, v)
}

func removeFromSet(c *CLI, s *p4.ValueSet, args []string) error {
	v, err := setValue(s, args)
	if err == nil {
		c.RemoveValue(s, v)
	}
	return err
}

func printSet(c *CLI, s *p4.ValueSet, _ []string) error {
	for _, v := range c.Values(s) {
		c.printf("%x\n", v.FillBytes(make([]byte, (s.Width+7)/8)))
	}
	return nil
}

const crcUsage = "CALCULATION POLYNOMIAL INITIAL FINAL REFLECT-DATA REFLECT-REMAINDER"

func setCRC(width int) func(*CLI, []string) error {
	return func(c *CLI, args []string) error {
		var n [3]int
		for i, name := range []string{"polynomial", "initial remainder", "final xor value"} {
			var err error
			if n[i], err = number(args[1+i], name, 0, 1<<width-1); err != nil {
				return err
			}
		}
		var reflect [2]bool
		for i, text := range args[4:] {
			var err error
			if reflect[i], err = strconv.ParseBool(strings.ToLower(text)); err != nil {
				return fmt.Errorf("%q, want true or false", text)
			}
		}
		return c.SetCRC(args[0], width, interp.CRC{
			Polynomial: uint32(n[0]), Initial: uint32(n[1]), Final: uint32(n[2]),
			ReflectData: reflect[0], ReflectRemainder: reflect[1],
		})
	}
}
