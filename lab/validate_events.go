package lab

import "strings"

func (v *Validator) events() {
	t := v.t
	links := map[string]bool{}
	for i := range t.Links {
		links[t.Links[i].name()] = true
	}
	for i := range t.Events {
		e := &t.Events[i]
		p := Item("events", "", i)
		v.Want(e.At >= 0 && e.At <= maxTime, p+".at", e.At, "0s to 30 days")
		switch e.Do {
		case "down", "up", "impair":
			v.Want(links[e.Link], p+".link", e.Link, "the name of a link")
			v.Want(e.Switch == "", p+".switch", e.Switch, "none for what happens to a link")
			v.Want((e.Impair != nil) == (e.Do == "impair"), p+".impair", e.Do, "impair with impair, and only with it")
			if e.Impair != nil {
				v.impairment(p+".impair", e.Impair)
			}
		case "restart", "config", "step-clock", "drift":
			v.Want(t.HasSwitch(e.Switch), p+".switch", e.Switch, "the name of a switch")
			v.Want(e.Link == "", p+".link", e.Link, "none for what happens to a switch")
		default:
			v.Want(false, p+".do", e.Do, "down, up, impair, restart, config, step-clock or drift")
		}
		v.switchEvent(p, e)
	}
}

func (v *Validator) switchEvent(p string, e *Event) {
	switch e.Do {
	case "restart":
		v.Want(e.What == "syncd" || e.What == "orchagent" || e.What == "managers", p+".what", e.What,
			"syncd, orchagent or managers")
	case "config":
		v.Want(len(e.Set)+len(e.Delete) > 0, p+".set", "", "rows to set or delete")
		for row := range e.Set {
			_, _, ok := cutRow(row)
			v.Want(ok, p+".set", row, "TABLE|key")
		}
		for _, row := range e.Delete {
			_, _, ok := cutRow(row)
			v.Want(ok, p+".delete", row, "TABLE|key")
		}
	case "step-clock":
		v.Want(e.By != 0 && e.By%Nanosecond == 0, p+".by", e.By, "whole nanoseconds, not 0")
	case "drift":
		v.drift(p+".drift_ppb", e.PPB)
	}
}

func cutRow(row string) (table, key string, ok bool) {
	table, key, ok = strings.Cut(row, "|")
	return table, key, ok && table != "" && key != ""
}

func (v *Validator) measures() {
	seen := map[string]bool{}
	for i := range v.t.Measure {
		m := &v.t.Measure[i]
		p := Item("measure", m.Name, i)
		if m.Name != "" {
			v.Name(p, m.Name, map[string]bool{})
		}
		v.Want(!seen[m.name()], p+".name", m.name(), "a name that no other series has")
		seen[m.name()] = true
		v.Want(v.t.HasSwitch(m.Switch), p+".switch", m.Switch, "the name of a switch")
		if m.Object != "" {
			v.streamed(p, m)
			continue
		}
		_, known := quantities[m.What]
		v.Want(known, p+".what", m.What, "%s", fieldList(keys(quantities)))
		whole := m.What == "buffer-bytes" || m.What == "clock-error"
		v.Want(!known || whole == (m.Port == ""), p+".port", m.Port,
			"the name of a port, but none for buffer-bytes and clock-error")
		if m.Queue != nil {
			v.Want(*m.Queue >= 0 && *m.Queue < 16 && strings.HasPrefix(m.What, "queue-"), p+".queue", *m.Queue,
				"0 to 15, and what a queue has")
		}
		v.Want(m.Every >= 100*Nanosecond, p+".every", m.Every, "at least 100ns")
		v.Want(m.From == 0, p+".from", m.From, "none: only a series of an object has bounds")
		v.Want(m.Until == 0, p+".until", m.Until, "none: only a series of an object has bounds")
	}
}

// streamed checks a series of what a switch streams. Its times are those of the stream.
func (v *Validator) streamed(p string, m *Measurement) {
	v.Want(m.What != "" && m.What == strings.ToUpper(m.What), p+".what", m.What,
		"a statistic as in HIGH_FREQUENCY_TELEMETRY_GROUP, such as IF_OUT_OCTETS")
	v.Want(m.Port == "", p+".port", m.Port, "none beside object")
	v.Want(m.Queue == nil, p+".queue", m.Queue, "none beside object: Ethernet0|3 is a queue")
	v.Want(m.Every == 0, p+".every", m.Every, "none beside object: the stream has an interval")
	v.Want(m.Until == 0 || m.Until > m.From, p+".until", m.Until, "a time after from")
}

func keys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}

func (v *Validator) checks() {
	for i := range v.t.Checks {
		c := &v.t.Checks[i]
		p := Item("checks", c.Name, i)
		v.Want(c.Name != "", p+".name", c.Name, "words that say what is checked")
		v.Want(c.Measured != "", p+".measured", c.Measured, "a metric, such as flow.NAME.received")
		v.Want(c.Want == "" || c.Min == "" && c.Max == "", p+".want", c.Want, "either want, or min and max")
		v.Want(c.Tolerance == "" || c.Want != "", p+".tolerance", c.Tolerance, "it together with want")
	}
}

func (v *Validator) truth() {
	seen := map[string]bool{}
	for i := range v.t.Truth {
		v.Name(Item("truth", v.t.Truth[i].Name, i), v.t.Truth[i].Name, seen)
	}
}
