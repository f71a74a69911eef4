package device

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/swss"
)

// rowsOf are the rows of CONFIG_DB of the entries of tamEntries, by their lists; but for the
// switch, which cannot be deleted.
var rowsOf = map[string][]string{
	"/tam/collectors/collector":                       {"TAM_COLLECTORS_TABLE|c6"},
	"/tam/samplers/sampler":                           {"TAM_SAMPLINGRATE_TABLE|s"},
	"/tam/flowgroups/flowgroup":                       {"TAM_FLOWGROUP_TABLE|spare", "ACL_RULE|TAM|spare"},
	"/tam/tailstamping-sessions/tailstamping-session": {"TAM_TAILSTAMPING_TABLE|t4"},
	"/tam/alt-mark-sessions/alt-mark-session":         {"TAM_ALTMARK_TABLE|a"},
	"/tam/flymon-tasks/flymon-task":                   {"TAM_FLYMON_TASK_TABLE|t2"},
	"/tam/flymon-queries/flymon-query":                {"TAM_FLYMON_QUERY_TABLE|q"},
	"/tam/tablerecord-sessions/tablerecord-session":   {"TAM_TABLERECORD_TABLE|r"},
}

// inForceLines are what is shown of them as long as they are in force, blanks as one.
var inForceLines = map[string]string{
	"/tam/collectors/collector":                       "IP Address : 2001:db8::7",
	"/tam/samplers/sampler":                           "Sample Rate : 100",
	"/tam/flowgroups/flowgroup":                       "SRC IP : 10.0.0.0/8",
	"/tam/tailstamping-sessions/tailstamping-session": "Flow Group Name : v4",
	"/tam/alt-mark-sessions/alt-mark-session":         "Flow Group Name : v4",
	"/tam/flymon-tasks/flymon-task":                   "Key : src-ip/16,dst-port",
	"/tam/flymon-queries/flymon-query":                "q t 10.0.0.1",
	"/tam/tablerecord-sessions/tablerecord-session":   "Collector : cr, 10.2.0.2:9",
}

// What is deleted stays in the tree and in the shell, without config, until the managers
// have heard of it and orchagent has taken it out of the switch; then it is gone.
func TestEveryDeletionIsTold(t *testing.T) {
	s := testSim(t, SimConfig{Config: variedConfig(t)})
	server, shell, out := startNorthbound(t, s)
	b := inForceBed{t, s, server, shell, out}
	b.settled("the start")
	for _, list := range SortedKeys(tamEntries) {
		if list == "/tam/switch" {
			continue
		}
		if len(rowsOf[list]) == 0 {
			t.Errorf("%s: nothing here says how an entry is deleted; is it told?", list)
			continue
		}
		b.deletion(list)
	}
	// The rule of a flow group that is deleted alone is in force by itself.
	const group = "/tam/flowgroups/flowgroup"
	restore := b.remove(rowsOf[group][:1])
	b.left(group, "it is deleted, and in force still")
	settle(t, s)
	b.gone(group)
	restore()
	b.settled("putting back a flow group")
}

// deletion deletes the entry of a list, and puts it back.
func (b inForceBed) deletion(list string) {
	b.Helper()
	restore := b.remove(rowsOf[list])
	b.left(list, "it is deleted, and in force still")
	if _, err := b.sim.Managers.Step(b.Context(), b.sim.Now()); err != nil { // orchagent hangs
		b.Fatal(err)
	}
	b.left(list, "it is deleted, and ")
	settle(b.T, b.sim)
	b.gone(list)
	restore()
	b.settled("putting back " + tamEntries[list])
}

// remove deletes rows of CONFIG_DB; restore writes them again.
func (b inForceBed) remove(keys []string) (restore func()) {
	b.Helper()
	client := b.sim.Redis.DB(swss.ConfigDB).Client()
	rows := map[string]map[string]string{}
	for _, key := range keys {
		row, err := client.HGetAll(b.Context(), key).Result()
		if err != nil || len(row) == 0 {
			b.Fatalf("%s: %v %v", key, row, err)
		}
		rows[key] = row
		if err := client.Del(b.Context(), key).Err(); err != nil {
			b.Fatal(err)
		}
	}
	return func() {
		b.Helper()
		for key, row := range rows {
			if err := client.HSet(b.Context(), key, row).Err(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// left fails if an entry that is deleted is not told to be in force, or is said to be
// configured.
func (b inForceBed) left(list, want string) {
	b.Helper()
	entry := tamEntries[list]
	if got := b.told(entry); !strings.Contains(got, want) {
		b.Errorf("%s: not-in-force is %q, want %q", entry, got, want)
	}
	for path := range b.whole() {
		if strings.HasPrefix(path, entry+"/") && strings.Contains(path, "/config/") {
			b.Errorf("%s is deleted", path)
		}
	}
	got := strings.Join(strings.Fields(b.show(entry)), " ")
	for _, w := range []string{"Pending", want, inForceLines[list]} {
		if !strings.Contains(got, w) {
			b.Errorf("%s: %q is not shown: %s", entry, w, got)
		}
	}
	b.notConfigured(list)
}

// notConfigured fails if a request for what is configured gets the entry.
func (b inForceBed) notConfigured(list string) {
	b.Helper()
	resp, err := b.server.Get(b.Context(), &gpb.GetRequest{Path: []*gpb.Path{gpath("/tam")}, Type: gpb.GetRequest_CONFIG, Encoding: gpb.Encoding_PROTO})
	if err != nil {
		b.Fatal(err)
	}
	at := gpath(tamEntries[list]).GetElem()
	for _, u := range resp.GetNotification()[0].GetUpdate() {
		if p := u.GetPath().GetElem(); p[1].GetName() == at[1].GetName() && p[2].GetKey()["name"] == at[2].GetKey()["name"] {
			b.Errorf("it is no configuration: %v", u)
		}
	}
}

// gone fails if there is anything of an entry.
func (b inForceBed) gone(list string) {
	b.Helper()
	entry := tamEntries[list]
	for path, v := range b.whole() {
		if strings.HasPrefix(path, entry+"/") {
			b.Errorf("%s is still there: %s", path, v)
		}
	}
	_, key, _ := strings.Cut(strings.TrimSuffix(entry, "]"), "[name=")
	command := "show tam " + showCommands[list[strings.LastIndex(list, "/")+1:]] + " " + key
	if err := b.shell.Exec(b.Context(), command); err == nil || !strings.Contains(err.Error(), "does not exist") {
		b.Errorf("%s of what is gone: %v\n%s", command, err, b.out)
	}
}
