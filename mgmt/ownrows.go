package mgmt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/set"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// digest returns a hash of a row's fields, or "none" for a missing row.
func digest(row map[string]string) string {
	if row == nil {
		return "none"
	}
	h := sha256.New()
	for _, f := range slices.Sorted(maps.Keys(row)) {
		if f != tree.NullField {
			fmt.Fprintf(h, "%d:%s%d:%s", len(f), f, len(row[f]), row[f])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// pastServers stands for any client that writes the database directly.
const pastServers = "a client of the database"

// claim records in the trial which user owns the rows that the caller is about to write. It refuses to let rows be
// written that a commit of gNMI's extension has changed. The caller must call written with true if the rows were
// written, and false otherwise. The caller holds setting.
func (s *archiver) claim(ctx context.Context, changes []set.RowChange) (written func(bool), err error) {
	t := s.trial
	if t == nil {
		return func(bool) {}, nil
	}
	c := auth.CallerOf(ctx)
	apart := t.ID != "" && !t.begins // the present Set is not part of the commit
	if apart {
		if err := s.overlap(c, t, changes); err != nil {
			return nil, err
		}
	}
	if apart || c.Name != t.User && s.hasAccounts() {
		return func(done bool) {
			if done {
				s.noteOthers(t, c.Name, changes)
			}
		}, nil
	}
	s.noteOwn(t, changes)
	if err := s.noteTrial(t); err != nil {
		return nil, fmt.Errorf("nothing was changed, as the unconfirmed commit cannot be kept: %w", err)
	}
	return func(done bool) {
		for _, ch := range changes {
			if done && t.Others[ch.Key] == "" {
				t.Own[ch.Key] = []string{digest(ch.After)}
			}
		}
	}, nil
}

// overlap refuses to write rows that a commit of gNMI's extension has changed.
func (s *archiver) overlap(c *auth.Caller, t *unconfirmedCommit, changes []set.RowChange) error {
	for _, ch := range changes {
		if t.Own[ch.Key] != nil {
			return status.Errorf(codes.FailedPrecondition,
				"%s: %s, and it changed a row that this would write; %s or an admin may confirm or cancel it",
				s.rowSeen(c, ch.Key), t.waits(), t.User)
		}
	}
	return nil
}

// noteOwn records that the trial's user is about to write rows. Each row may then have its former or its new content.
// If the former content of a row is not what the user left, another client has changed the row.
func (s *archiver) noteOwn(t *unconfirmedCommit, changes []set.RowChange) {
	for _, ch := range changes {
		switch {
		case t.Others[ch.Key] != "":
		case !t.begins && s.hasAccounts() && !slices.Contains(s.left(t, ch.Key), digest(ch.Before)):
			t.Others[ch.Key] = pastServers
		default:
			t.Own[ch.Key] = []string{digest(ch.Before), digest(ch.After)}
		}
	}
}

// left returns the digests of a row as the trial's user left it. If the user did not write the row, these are the
// digest of the row in the configuration to which the trial would return.
func (s *archiver) left(t *unconfirmedCommit, key string) []string {
	if own := t.Own[key]; own != nil {
		return own
	}
	if t.back == nil {
		if _, rows, err := s.archive().Load(t.Back); err == nil {
			t.back = rows
		}
	}
	table, k, _ := strings.Cut(key, "|")
	return []string{digest(t.back[table][k])}
}

// noteOthers records that another user has changed rows. If the record cannot be written to disk, the content of the
// rows still reveals the change.
func (s *archiver) noteOthers(t *unconfirmedCommit, name string, changes []set.RowChange) {
	for _, ch := range changes {
		t.Others[ch.Key] = name
	}
	if err := s.noteTrial(t); err != nil {
		s.log.Error("it is not on the disk whose rows are not of an unconfirmed commit", "user", t.User, "error", err)
	}
}

// rowSeen returns the key of a row. Parts that a caller may not read are hidden.
func (s *archiver) rowSeen(c *auth.Caller, key string) string {
	table, k, _ := strings.Cut(key, "|")
	if c.View != nil && !(c.View.Some(s.model.Find(rights.RowsPath), []string{table, k}, access.Read) &&
		c.View.MayReadRow(nil, swss.ConfigDB, table, k)) {
		return tree.Hidden
	}
	return key
}

// hasAccounts reports whether users are configured. Only then do callers have names that distinguish them.
func (s *Server) hasAccounts() bool { return s.guard.HasAccounts() }

// reverted returns the content of CONFIG_DB after a trial is undone. A row returns to its content in back if the
// trial's user may write it and no other client has changed it. stays names the other rows.
func (s *archiver) reverted(t *unconfirmedCommit, back, is configfile.Rows) (want configfile.Rows, stays []string) {
	may, role := s.rightsOf(t)
	want = configfile.Rows{}
	for table, rows := range is {
		want[table] = maps.Clone(rows)
	}
	for _, d := range configfile.Diff(is, back) {
		key := d.Table + "|" + d.Key
		was, now := back[d.Table][d.Key], is[d.Table][d.Key]
		by := t.Others[key]
		if by == "" && s.hasAccounts() && !slices.Contains(s.left(t, key), digest(now)) {
			by = pastServers
		}
		switch {
		case by != "":
			stays = append(stays, rowName(d.Table, d.Key)+" (changed by "+by+")")
		case !may(d.Table, d.Key, was, now):
			stays = append(stays, rowName(d.Table, d.Key)+" (role "+role+" may not write it)")
		case d.Kind == configfile.Added: // the row exists only in the configuration to go back to
			if want[d.Table] == nil {
				want[d.Table] = map[string]swss.FieldValues{}
			}
			want[d.Table][d.Key] = was
		case d.Kind == configfile.Removed:
			delete(want[d.Table], d.Key)
		default:
			want[d.Table][d.Key] = was
		}
	}
	return want, stays
}

// rightsOf returns a function that reports whether the user of a trial may change a row. It uses the user's present
// rights, or, if the user no longer exists, those of the user's role at the start of the trial.
func (s *archiver) rightsOf(
	t *unconfirmedCommit,
) (may func(table, key string, was, is map[string]string) bool, role string) {
	v, of, known := s.guard.RightsOf(t.User, t.Role)
	return func(table, key string, was, is map[string]string) bool {
		switch {
		case known && v == nil:
			return true
		case !known:
			return false
		}
		return v.MayWriteRow(table, key) || v.MayChangeRow(table, key, was, is)
	}, string(of)
}

// rowName returns the name of a row for places that every user may read; a secret key is masked.
func rowName(table, key string) string {
	if schema.SecretKey(table) {
		return table + "|" + schema.SecretMask
	}
	return table + "|" + key
}

// mostStays bounds the number of rows that are named.
const mostStays = 20

// stayed returns a sentence that lists the rows that stay, or "" if there are none.
func stayed(stays []string) string {
	if len(stays) == 0 {
		return ""
	}
	text := strings.Join(stays[:min(len(stays), mostStays)], ", ")
	if more := len(stays) - mostStays; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "these rows stay as they are: " + text
}

// joined returns two texts as one, and omits empty ones.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
