package techsupport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/device/doctor"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

func config(t *testing.T, addr string) Config {
	t.Helper()
	redis, err := swss.DefaultConfig(addr)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return Config{Doctor: doctor.Config{Redis: redis, GNMI: "127.0.0.1:1", Data: t.TempDir(), Timeout: 20 * time.Second,
		Version: "v1", Now: func() time.Time { return now }}}
}

// open returns the files of an archive, and checks their common properties.
func open(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files, last := map[string]string{}, ""
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name <= last || h.Mode != 0o600 || !h.ModTime.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
			t.Errorf("after %s: %s, mode %o, of %s", last, h.Name, h.Mode, h.ModTime)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		last = h.Name
		files[strings.TrimPrefix(h.Name, "techsupport/")] = string(text)
	}
}

func manifest(t *testing.T, files map[string]string) Manifest {
	t.Helper()
	var m Manifest
	if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The archive contains no secret of an installation, wherever it occurs. It contains every other value.
func TestSecretsAreLeftOut(t *testing.T) {
	server := swsstest.StartServer(t)
	r := server.Open()
	set := func(db swss.DBName, key string, words ...any) {
		if err := r.DB(db).Client().HSet(t.Context(), key, words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set(swss.ConfigDB, "TACPLUS|global", "passkey", "PLANT01\"x\\y", "timeout", "5")
	set(swss.ConfigDB, "RADIUS_SERVER|10.0.0.1", "passkey", "PLANT02")
	set(swss.ConfigDB, "SNMP_COMMUNITY|PLANT03", "TYPE", "RO")
	set(swss.ConfigDB, "SNMP_USER|bob", "SNMP_USER_AUTH_PASSWORD", "PLANT04", "SNMP_USER_ENCRYPTION_PASSWORD", "PLANT05")
	set(swss.ConfigDB, "LDAP|global", "bind_password", "PLANT06")
	set(swss.ConfigDB, "MACSEC_PROFILE|m", "primary_cak", "PLANT07", "primary_ckn", "kept")
	set(swss.ConfigDB, "NTP_KEY|1", "value", "PLANT08", "type", "md5")
	set(swss.ConfigDB, "BGP_NEIGHBOR|10.0.0.2", "auth_password", "PLANT09")
	set(swss.ConfigDB, "SNMP_TRAP_CONFIG|v1", "Community", "PLANT10")
	set(swss.ASICDB, "ASIC_STATE:SAI_OBJECT_TYPE_MACSEC_SA:oid:0x1", "SAI_MACSEC_SA_ATTR_SAK", "PLANT11")
	// Secrets far from their field, in dumps that precede the field, and in bytes that are not text.
	set(swss.ApplDB, "NOTE:a", "text", "it was PLANT02 once", "raw", "\xff PLANT06 \xfe")
	if err := r.DB(swss.ASICDB).Client().LPush(t.Context(), "ASIC_STATE_KEY_VALUE_OP_QUEUE",
		`["SAI_MACSEC_SA_ATTR_AUTH_KEY","PLANT12","SAI_X","kept"]`).Err(); err != nil {
		t.Fatal(err)
	}
	client := r.DB(swss.ConfigDB).Client()
	if err := client.ConfigSet(t.Context(), "masterauth", "PLANT13").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err(); err != nil {
		t.Fatal(err)
	}
	set(swss.ConfigDB, "TACPLUS_SERVER|1", "passkey", "PLANT14") // Redis notes this in its slow log
	set(swss.ConfigDB, "TACPLUS_SERVER|1", "passkey", "PLANT15")

	dir := t.TempDir()
	cfg := config(t, server.Addr)
	log := filepath.Join(dir, "swss.rec")
	text := "RADIUS|global|SET|passkey:PLANT16|retransmit:kept\n" + `{\"password\": \"PLANT17 PLANT18\"}` + "\n" +
		"-----BEGIN EC PRIVATE KEY-----\nPLANT19\n-----END EC PRIVATE KEY-----\nkept too\n" +
		"SNMP_COMMUNITY|PLANT20|SET|TYPE:RO\n"
	long := "PLANT21\n-----END PRIVATE KEY-----\nkept at last\n"
	cfg.Doctor.Users = filepath.Join(dir, "users")
	for name, text := range map[string]string{log: text, log + ".1": strings.Repeat("x", mostTail) + "\n" + long,
		cfg.Doctor.Users: "bob:PLANT22:admin\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Tails = []string{log, log + ".1"}
	cfg.More = []Item{{"show.txt", func(context.Context) ([]byte, string, error) {
		return []byte("user bob PLANT22"), "", errors.New("refused PLANT22")
	}}}
	path := filepath.Join(dir, "a.tar.gz")
	if _, err := Save(t.Context(), path, cfg); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".techsupport*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	archive, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := open(t, archive)
	for name, text := range files {
		if at := strings.Index(text, "PLANT"); at >= 0 {
			t.Errorf("%s has a secret: %.200s", name, text[max(0, at-60):])
		}
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON any more", name)
		}
	}
	for name, want := range map[string]string{
		"db/CONFIG_DB.json": `"kept"`, "db/ASIC_DB.json": `\"kept\"`,
		"db/APPL_DB.json": `"quoted": "\"\\xff <secret> \\xfe\""`,
		"tail/1-swss.rec": "retransmit:kept\n", "tail/2-swss.rec.1": "kept at last", "redis/info.txt": "redis_version",
		"redis/config.txt": `masterauth "<secret>"`, "redis/slowlog.txt": "TACPLUS_SERVER|1", "redis/clients.txt": "addr=",
		"doctor.txt": "not known", "doctor.json": "findings", "version.txt": "CPUs", "show.txt": "user bob",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q: %.300s", name, want, files[name])
		}
	}
	m := manifest(t, files)
	if len(m.Files) != len(files)-1 || len(m.Failed) == 0 || m.Failed[len(m.Failed)-1].Error != "refused <secret>" {
		t.Errorf("%+v", m)
	}
}

// Without Redis, the archive reports that. Two runs give the same bytes.
func TestArchiveWithoutRedis(t *testing.T) {
	cfg := config(t, "127.0.0.1:1")
	cfg.Tails = []string{filepath.Join(t.TempDir(), "none.rec")}
	var archive bytes.Buffer
	if _, err := Write(t.Context(), &archive, cfg); err != nil {
		t.Fatal(err)
	}
	files := open(t, archive.Bytes())
	why := map[string]string{}
	for _, f := range manifest(t, files).Failed {
		why[f.Name] = f.Error
	}
	if !strings.Contains(why["redis and all databases"], "Redis does not answer") ||
		!strings.Contains(why["tail/1-none.rec"], "no such file") || !strings.Contains(files["doctor.txt"], "failed") {
		t.Errorf("%v\n%s", why, files["doctor.txt"])
	}
	if _, err := Save(t.Context(), filepath.Join(t.TempDir(), "none", "a.tar.gz"), cfg); err == nil {
		t.Error("saved where no directory is")
	}
	c := &collection{manifest: Manifest{Time: cfg.Doctor.Now().Truncate(time.Second)},
		files: map[string][]byte{"b": nil, "a": nil}}
	var one, two bytes.Buffer
	if err := errors.Join(c.pack(&one), c.pack(&two)); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("%v: two archives of the same differ", err)
	}
}

// Large databases are truncated, and the manifest reports that. Keys that are not hashes are dumped too.
func TestLargeDatabase(t *testing.T) {
	server := swsstest.StartServer(t)
	d := server.Open().DB(swss.StateDB)
	ctx := t.Context()
	const most = 300
	words := make([]any, 0, 2*(most+1))
	for i := range most + 1 {
		words = append(words, "ROW|"+string(rune('a'+i%26))+time.Duration(i).String(), "v")
	}
	client := d.Client()
	err := errors.Join(client.MSet(ctx, words...).Err(), client.Set(ctx, "A|huge", strings.Repeat("x", 2*mostValue),
		0).Err(),
		client.SAdd(ctx, "A|set", "b", "a").Err(), client.RPush(ctx, "A|list", "2", "1").Err())
	if err != nil {
		t.Fatal(err)
	}
	c := &collection{mostKeys: most}
	text, note, err := c.database(ctx, d)
	if err != nil || note != "300 of 304 keys, the first by name" {
		t.Errorf("%q, %v", note, err)
	}
	var list []struct {
		Key, Type, Note string
		Items           []string
	}
	if err := json.Unmarshal(text, &list); err != nil || len(list) != most {
		t.Fatalf("%d records, %v", len(list), err)
	}
	if l := list[0]; l.Key != "A|huge" || !strings.HasPrefix(l.Note, "left out: ") || len(l.Items) > 0 {
		t.Errorf("%+v", l)
	}
	if strings.Join(list[1].Items, "") != "21" || strings.Join(list[2].Items, "") != "ab" {
		t.Errorf("%+v", list[1:3])
	}
}
