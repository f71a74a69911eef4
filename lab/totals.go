package lab

// flowTotal adds a field up over all flow groups. For delays it returns the minimum or the maximum.
func (r *Result) flowTotal(field string) (Metric, bool) {
	var total Metric
	found := false
	for _, f := range r.Flows {
		m, ok := f.metric(field, r)
		switch {
		case !ok:
			return Metric{}, false
		case m.Unit != "ps":
			var err error
			if total, err = (Metric{total.Value, m.Unit}).plus(m); err != nil {
				return Metric{}, false
			}
		case f.Received == 0: // it has no delay
		case field == "delay.max":
			total = Metric{max(total.Value, m.Value), m.Unit}
		case field == "delay.min" && (!found || m.Value < total.Value):
			total = m
		case field != "delay.min":
			return Metric{}, false
		}
		found = found || f.Received > 0
		if !found && m.Unit == "ps" {
			total = m
		}
	}
	return total, len(r.Flows) > 0
}

// switchTotal adds a field up over all switches.
func (r *Result) switchTotal(field string) (Metric, bool) {
	var total Metric
	for _, n := range r.Switches {
		switch field {
		case "count":
			total.Value++
		case "received", "sent":
			total.Unit = "frames"
			for _, p := range n.Ports {
				m, _ := numbered(p, field, true)
				total.Value += m.Value
			}
		case "balanced", "problems", "to_cpu":
			m, _ := n.metric(field)
			total = Metric{total.Value + m.Value, m.Unit}
		default:
			return Metric{}, false
		}
	}
	return total, len(r.Switches) > 0
}
