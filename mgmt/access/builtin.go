package access

import (
	"tamtam/swss/schema"
)

// SonicDB is the origin of the tables of databases as they are; in rules its paths are /DATABASE/TABLE.
const SonicDB = "sonic-db"

// What shows rows as they are: whoever may see these sees what other paths would hide.
const (
	rowsPath    = "/config-rows"
	changesPath = "/configurations/configuration/change"
	tablesPath  = SonicDB + ":/"
)

// builtIn are the rules of the roles that are built in. A role that has lines of its own (own) begins without rows as
// they are: what lines hide would be seen there.
func builtIn(own map[Role]bool) []Rule {
	rules := []Rule{rule(Admin, Write, "/"), rule(Admin, Read, tablesPath)}
	rules = append(rules, rule(ReadOnly, Read, "/"), rule(ReadOnly, None, rowsPath), rule(ReadOnly, None, changesPath))
	if !own[ReadOnly] { // what was derived and counted, not what was configured
		rules = append(rules, rule(ReadOnly, Read, tablesPath), rule(ReadOnly, None, tablesPath+"CONFIG_DB"))
	}
	rules = append(rules, rule(Operator, Write, "/"), rule(Operator, Read, "/system"))
	if own[Operator] {
		return append(rules, rule(Operator, None, rowsPath), rule(Operator, None, changesPath))
	}
	rules = append(rules, rule(Operator, Read, tablesPath), rule(Operator, Read, rowsPath))
	for _, t := range schema.Tables() { // those of other daemons, such as SONiC's AAA, are not the operator's
		if t.Config != "" && t.Config != schema.CfgDeviceMetadata {
			rules = append(rules, rule(Operator, Write, rowsPath+"/row[table="+t.Config+"]"))
		}
	}
	return rules
}

func rule(role Role, level Level, path string) Rule {
	p, err := ParsePath(path)
	if err != nil {
		panic(err) // they stand above
	}
	return Rule{Role: role, Level: level, Path: p}
}
