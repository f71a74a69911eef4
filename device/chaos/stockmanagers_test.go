package chaos

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tamtam/device/devicetest"
	"tamtam/swss"
)

// managersVariable names a program that runs SONiC's managers. It is started with HOST:PORT of a Redis and the name of
// a manager, such as vlanmgrd, and runs in the foreground. The commands that managers run for the kernel must succeed;
// they need no effect.
const managersVariable = "SONIC_MANAGERS"

// stockManagers are the managers that write the rows of some tables.
var stockManagers = []string{"vrfmgrd", "vlanmgrd", "portmgrd", "intfmgrd"}

// A stockManager is a running manager.
type stockManager struct {
	process *exec.Cmd
	exited  chan struct{}
}

// configured returns the row of CONFIG_DB from which a manager makes a row of APPL_DB; nil if no manager does.
func (r *stockRow) configured() *stockRow {
	c := &stockRow{db: swss.ConfigDB, fields: maps.Clone(r.fields)}
	first, rest, _ := strings.Cut(r.key, ":")
	switch r.table {
	case "PORT_TABLE":
		c.table, c.key = "PORT", r.key
	case "VRF_TABLE":
		c.table, c.key = "VRF", r.key
	case "VLAN_TABLE":
		c.table, c.key = "VLAN", r.key
		c.fields = words("admin_status=up mtu=9100 vlanid=" + strings.TrimPrefix(r.key, "Vlan"))
	case "VLAN_MEMBER_TABLE":
		c.table, c.key = "VLAN_MEMBER", first+"|"+rest
	case "INTF_TABLE":
		c.table, c.key, c.fields = "INTERFACE", first, words("NULL=NULL")
		switch {
		case strings.HasPrefix(first, "Vlan"):
			c.table = "VLAN_INTERFACE"
		case strings.HasPrefix(first, "PortChannel"):
			c.table = "PORTCHANNEL_INTERFACE"
		}
		if rest != "" {
			c.key += "|" + rest
		} else if vrf := r.fields["vrf_name"]; vrf != "" {
			c.fields = words("vrf_name=" + vrf)
		}
	default:
		return nil
	}
	return c
}

// startManagers starts the managers, if there is a program for them.
func (s *foreignSwitch) startManagers() {
	s.Helper()
	if os.Getenv(managersVariable) == "" || s.unmanaged {
		return
	}
	for _, name := range stockManagers {
		s.config("LOGGER|"+name, "LOGLEVEL", "NOTICE", "LOGOUTPUT", "STDERR")
		log, err := os.OpenFile(filepath.Join(s.dir, name+".out"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		devicetest.NoError(s.T, err)
		cmd, exited := exec.Command(os.Getenv(managersVariable), s.server.Addr, name), make(chan struct{})
		cmd.Stdout, cmd.Stderr = log, log
		devicetest.NoError(s.T, cmd.Start())
		_ = log.Close()
		s.managers[name] = &stockManager{cmd, exited}
		go func() {
			_ = cmd.Wait() // managed reports an end that is too early
			close(exited)
		}()
	}
}

// killManagers kills the managers.
func (s *foreignSwitch) killManagers() {
	for name, m := range s.managers {
		_ = m.process.Process.Kill()
		<-m.exited
		delete(s.managers, name)
	}
}

// managersLive fails the test if a manager has ended.
func (s *foreignSwitch) managersLive() {
	s.Helper()
	for name, m := range s.managers {
		select {
		case <-m.exited:
			log, _ := os.ReadFile(filepath.Join(s.dir, name+".out"))
			s.Fatalf("%s has ended:\n%s", name, log[max(0, len(log)-2000):])
		default:
		}
	}
}

// state reports in STATE_DB that ports and LAGs exist, as SONiC's portsyncd and teamsyncd do.
func (s *foreignSwitch) state(r *stockRow, there bool) {
	s.Helper()
	if r.table != "PORT_TABLE" && r.table != "LAG_TABLE" {
		return
	}
	db, key := s.redis.DB(swss.StateDB).Client(), r.table+"|"+r.key
	if !there {
		devicetest.NoError(s.T, db.Del(s.Context(), key).Err())
		return
	}
	devicetest.NoError(s.T, db.HSet(s.Context(), key, "state", "ok", "netdev_oper_status", "up").Err())
}

// given reports whether a manager has passed on that a row is gone.
func (s *foreignSwitch) given(r *stockRow) bool {
	db := s.redis.DB(swss.ApplDB).Client()
	n, err := db.Exists(s.Context(), r.table+":"+r.key, "_"+r.table+":"+r.key).Result()
	gone, err2 := db.SIsMember(s.Context(), r.table+"_DEL_SET", r.key).Result()
	return err == nil && err2 == nil && (n == 0 || gone)
}
