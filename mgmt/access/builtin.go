package access

import (
	"tamtam/swss/schema"
)

// SonicDB is the origin of raw tables of databases; in rules its paths are /DATABASE/TABLE.
const SonicDB = "sonic-db"

// Paths of raw rows. A role that may read these rows also sees data that lines hide at other paths.
const (
	rowsPath    = "/config-rows"
	changesPath = "/configurations/configuration/change"
	tablesPath  = SonicDB + ":/"
)

// builtIn returns the rules of the built-in roles. own holds the roles that have lines in the file. Such a role begins
// without rights to raw rows, because these would show the data that its lines hide.
func builtIn(own map[Role]bool) []Rule {
	rules := []Rule{rule(Admin, Write, "/"), rule(Admin, Read, tablesPath)}
	rules = append(rules, rule(ReadOnly, Read, "/"), rule(ReadOnly, None, rowsPath), rule(ReadOnly, None, changesPath))
	if !own[ReadOnly] { // the role may read derived rows and counters, but no configuration
		rules = append(rules, rule(ReadOnly, Read, tablesPath), rule(ReadOnly, None, tablesPath+"CONFIG_DB"))
	}
	rules = append(rules, rule(Operator, Write, "/"), rule(Operator, Read, "/system"))
	if own[Operator] {
		return append(rules, rule(Operator, None, rowsPath), rule(Operator, None, changesPath))
	}
	rules = append(rules, rule(Operator, Read, tablesPath), rule(Operator, Read, rowsPath))
	for _, t := range schema.Tables() { // the operator may not change tables of other daemons, such as SONiC's AAA
		if t.Config != "" && t.Config != schema.CfgDeviceMetadata {
			rules = append(rules, rule(Operator, Write, rowsPath+"/row[table="+t.Config+"]"))
		}
	}
	return rules
}

func rule(role Role, level Level, path string) Rule {
	p, err := ParsePath(path)
	if err != nil {
		panic(err) // the paths are constants above
	}
	return Rule{Role: role, Level: level, Path: p}
}
