package tammgr

import (
	"slices"

	"tamtam/schema"
	"tamtam/swss"
)

// ports knows the names that stand for ports in ACLs.
type ports struct {
	alias map[string]string // by port: its alias, or ""
	named index             // ports by alias
	lags  set
}

func newPorts() ports { return ports{alias: map[string]string{}, named: index{}, lags: set{}} }

// resolve returns the name of the port or PortChannel that is written as name
// or alias. A port's name comes before any alias; of ports with one alias the
// first has it.
func (p ports) resolve(name string) (string, bool) {
	if _, ok := p.alias[name]; ok {
		return name, true
	}
	if _, ok := p.lags[name]; ok {
		return name, true
	}
	var found []string
	for port := range p.named[name] {
		found = append(found, port)
	}
	if len(found) == 0 {
		return name, false
	}
	return slices.MinFunc(found, schema.CompareNames), true
}

// resolveAll resolves names and lists those that exist not, both sorted.
func (p ports) resolveAll(names []string) (resolved, missing []string) {
	seen := set{}
	for _, n := range names {
		r, ok := p.resolve(n)
		if !ok {
			missing = append(missing, n)
		}
		if _, twice := seen[r]; !twice {
			seen[r] = struct{}{}
			resolved = append(resolved, r)
		}
	}
	schema.SortNames(resolved)
	return resolved, missing
}

// port takes a row of PORT.
func (m *Manager) port(key string, fields swss.FieldValues) {
	old, had := m.ports.alias[key]
	port, err := schema.ParsePort(key, fields)
	has := fields != nil && err == nil
	if had {
		delete(m.ports.alias, key)
		m.ports.named.remove(old, key)
	}
	if has {
		m.ports.alias[key] = port.Alias
		if port.Alias != "" {
			m.ports.named.add(port.Alias, key)
		}
	}
	if had == has && old == port.Alias {
		return
	}
	m.portChanged(key)
	m.portChanged(old)
	m.portChanged(port.Alias)
}

// portChannel takes a row of PORTCHANNEL.
func (m *Manager) portChannel(key string, fields swss.FieldValues) {
	_, err := schema.ParsePortChannel(key, fields)
	_, had := m.ports.lags[key]
	has := fields != nil && err == nil
	if had == has {
		return
	}
	if has {
		m.ports.lags[key] = struct{}{}
	} else {
		delete(m.ports.lags, key)
	}
	m.portChanged(key)
}

// portChanged marks what is written with this name.
func (m *Manager) portChanged(name string) {
	m.markAll(kindTable, m.tablesOfPort[name])
	m.markAll(kindRule, m.rulesOfPort[name])
}
