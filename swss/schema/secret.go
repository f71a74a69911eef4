package schema

import (
	"slices"
	"strings"
)

// SecretMask replaces a secret wherever it is not shown.
const SecretMask = "********"

// secretWords are parts of the names of fields that hold a secret: SONiC's, and those of SAI's attributes.
var secretWords = []string{
	"passkey", "password", "passwd", "passphrase", "secret", "private_key", "privkey", "auth_key", "authkey", "auth_pass",
	"psk", "_cak", "auth_token", "ssh_key",
}

// secretNames are complete names of fields that hold a secret.
var secretNames = []string{"sak", "cak", "sai_macsec_sa_attr_sak"}

// SecretField reports whether a field of a table, in any database, holds a secret.
func SecretField(table, field string) bool {
	name := strings.ToLower(strings.TrimSuffix(field, "@"))
	if table == "NTP_KEY" && name == "value" || strings.HasPrefix(table, "SNMP") && name == "community" ||
		slices.Contains(secretNames, name) {
		return true
	}
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

// SecretKey reports whether the keys of a table's rows are secrets.
func SecretKey(table string) bool { return table == "SNMP_COMMUNITY" }
