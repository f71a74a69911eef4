package techsupport

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	hiddenText  = "<secret>"
	leastSecret = 4 // minimum length in bytes: shorter values occur everywhere
)

// words matches parts of the names of fields with secrets in SONiC's databases and in Redis' settings. Examples are
// TACPLUS and RADIUS passkey, LDAP bind_password, SNMP_USER_*_PASSWORD, BGP auth_password, MACSEC_PROFILE primary_cak
// and SAI's SAK, AUTH_KEY and SALT, requirepass, masterauth, tls-key-file-pass.
const words = `passkey|passwd|password|passphrase|secret|credential|token|private_?key|auth_?key|auth_?pass|` +
	`requirepass|masterauth|file-pass|snmp_?\w*community|(?:primary|fallback)_cak|_psk|attr_sak|attr_salt`

var (
	secretField = regexp.MustCompile(`(?i)(?:` + words + `)|^(?:community|cak|sak|salt|psk)$`)
	// In lines of text: a field, the characters between it and its value, and the value, in quotes or bare. The
	// quotes stay, also those that JSON has escaped.
	head       = `(?i)([\w-]*(?:` + words + `)[\w-]*\\*"?[ \t]*[:=|, \t][ \t]*`
	quotedText = regexp.MustCompile(head + `\\*")([^"\\\n]+)`)
	secretText = regexp.MustCompile(head + `)([^\s"\\|,}\]]+)`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	keyEnd     = regexp.MustCompile(`(?s)\A.*-----END [A-Z ]*PRIVATE KEY-----`)
)

// secrets holds values that must not leave the machine.
type secrets struct{ values []string }

// learn makes a value a secret wherever it occurs, also in JSON's escaped form.
func (s *secrets) learn(value string) {
	if len(value) < leastSecret || value == hiddenText {
		return
	}
	s.values = append(s.values, value)
	for _, escaped := range []string{string(encode(value)), strconv.Quote(value)} {
		if text := strings.Trim(strings.TrimSpace(escaped), `"`); text != value {
			s.values = append(s.values, text)
		}
	}
}

// known replaces the known secrets in a text.
func (s *secrets) known(text string) string {
	pairs := make([]string, 0, 2*len(s.values))
	for _, v := range s.values {
		pairs = append(pairs, v, hiddenText)
	}
	return strings.NewReplacer(pairs...).Replace(text) // in one pass, since there may be thousands of secrets
}

// sort puts the longest secrets first, since a secret may be a part of another.
func (s *secrets) sort() {
	slices.SortFunc(s.values, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	s.values = slices.Compact(s.values)
}

// hide replaces secrets in text: known ones, values that follow a field's name, and private keys.
func (s *secrets) hide(text []byte) []byte {
	s.sort()
	text = privateKey.ReplaceAll(text, []byte(hiddenText))
	if bytes.Contains(text, []byte("PRIVATE KEY-----")) { // only the end of a key is left
		text = keyEnd.ReplaceAll(text, []byte(hiddenText))
	}
	text = []byte(s.known(string(text)))
	text = quotedText.ReplaceAll(text, []byte("${1}"+hiddenText))
	return secretText.ReplaceAll(text, []byte("${1}"+hiddenText))
}

// row hides the secrets of a row of a table, and learns them.
func (s *secrets) row(table string, fields []pair) {
	for i, f := range fields {
		if secretField.MatchString(string(f.Field)) || table == "NTP_KEY" && f.Field == "value" {
			s.learn(string(f.Value))
			fields[i].Value = hiddenText
		}
	}
}

// keyOf hides a key that is itself a secret.
func (s *secrets) keyOf(table, key string) string {
	if table == "SNMP_COMMUNITY" && key != "" {
		s.learn(key)
		return hiddenText
	}
	return key
}
