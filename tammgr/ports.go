package tammgr

import (
	"slices"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// ports holds the names of ports in ACLs.
type ports struct {
	alias map[string]string // alias of each port, or ""
	named map[string]set    // ports by alias
	lags  set
	// changed is called with a name that now may stand for another port, or for no port.
	changed func(name string)
}

// resolve returns the name of the port or PortChannel with the given name or alias. A port's name has precedence over
// any alias. If several ports have the same alias, it stands for the first of these ports.
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

// resolveAll returns the resolved names, and the names that do not exist, both sorted.
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

// port applies a row of PORT.
func (p ports) port(key string, fields swss.FieldValues) {
	old, had := p.alias[key]
	port, err := schema.ParsePort(key, fields)
	has := fields != nil && err == nil
	if had {
		delete(p.alias, key)
		delete(p.named[old], key)
	}
	if has {
		p.alias[key] = port.Alias
		if port.Alias != "" {
			if p.named[port.Alias] == nil {
				p.named[port.Alias] = set{}
			}
			p.named[port.Alias][key] = struct{}{}
		}
	}
	if had == has && old == port.Alias {
		return
	}
	p.changed(key)
	p.changed(old)
	p.changed(port.Alias)
}

// portChannel applies a row of PORTCHANNEL.
func (p ports) portChannel(key string, fields swss.FieldValues) {
	_, err := schema.ParsePortChannel(key, fields)
	_, had := p.lags[key]
	has := fields != nil && err == nil
	if had == has {
		return
	}
	if has {
		p.lags[key] = struct{}{}
	} else {
		delete(p.lags, key)
	}
	p.changed(key)
}
