package mgmt

import (
	"testing"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// Servers share the tree, unless keys of their databases have other separators.
func TestModelIsShared(t *testing.T) {
	of := func(separator string) *tree.Model {
		cfg, err := swss.DefaultConfig("")
		if err != nil {
			t.Fatal(err)
		}
		db := cfg.Databases[swss.ConfigDB]
		db.Separator = separator
		cfg.Databases[swss.ConfigDB] = db
		redis := swss.Look(cfg)
		defer redis.Close()
		m, err := modelOf(redis)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if of("|") != of("|") {
		t.Error("two servers on SONiC's databases have a tree each")
	}
	if of(";") == of("|") {
		t.Error("a server on keys with another separator has SONiC's tree")
	}
}
