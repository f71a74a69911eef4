package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tamtam/mgmt"
	"tamtam/mgmt/access"
)

func hostChecks() []check {
	return []check{
		{"gNMI port", false, gnmiPort},
		{"gNMI certificate", false, certificate},
		{"users file", false, users},
		{"data directory", false, dataDir},
		{"free space", false, freeSpace},
		{"processes", false, processes},
		{"descriptors", false, descriptors},
		{"versions", false, versions},
		{"live ports", false, livePorts},
	}
}

func gnmiPort(ctx context.Context, p *installation) answer {
	if err := mgmt.Probe(ctx, p.GNMI); err != nil {
		return fail("tamtam run mgmtd, or give its address with --gnmi", "%v", err)
	}
	return well("%s answers", p.GNMI)
}

// renewAhead is the remaining validity below which a certificate should be renewed. mgmtd renews its own at its
// start.
const renewAhead = 30 * 24 * time.Hour

// certificate checks the gNMI server's certificate: its validity, and whether our CA has signed it.
func certificate(ctx context.Context, p *installation) answer {
	// Any certificate is accepted here; it is judged below.
	conf := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	conn, err := (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", p.GNMI)
	var plain tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &plain):
		return warn("run it without --insecure", "%s speaks without TLS: everybody on the way reads and writes", p.GNMI)
	case errors.As(err, &op) && op.Op == "dial":
		return unknown("%v", err)
	case err != nil:
		return fail("read mgmtd's log with --verbose", "%s: %v", p.GNMI, err)
	}
	defer conn.Close()
	return p.judge(conn.(*tls.Conn).ConnectionState().PeerCertificates)
}

func (p *installation) judge(chain []*x509.Certificate) answer {
	if len(chain) == 0 {
		return fail("read mgmtd's log with --verbose", "the server shows no certificate")
	}
	cert, now := chain[0], p.Now()
	until := cert.NotAfter.UTC().Format(time.DateOnly)
	const renew = "restart mgmtd, which renews its own, or put a new one at --tls-cert"
	switch {
	case now.Before(cert.NotBefore):
		return fail("set the clock, or "+renew, "not valid before %s", cert.NotBefore.UTC().Format(time.RFC3339))
	case now.After(cert.NotAfter):
		return fail(renew, "expired on %s", until)
	}
	if a := p.verify(chain); a.verdict != OK {
		return a
	}
	if left := cert.NotAfter.Sub(now); left < renewAhead {
		return warn(renew, "valid until %s, %d days", until, int(left.Hours()/24))
	}
	return well("valid until %s", until)
}

func (p *installation) verify(chain []*x509.Certificate) answer {
	file := p.CA
	if file == "" {
		file = filepath.Join(p.Data, "ca.pem")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown("valid until %s; its issuer was not checked: %v",
			chain[0].NotAfter.UTC().Format(time.DateOnly), err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fail("give the file of the CA with --tls-ca", "%s has no certificate", file)
	}
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: p.Now()}
	if _, err := chain[0].Verify(options); err != nil {
		return fail("give clients the CA that has signed it, here with --tls-ca", "%s: %v", file, err)
	}
	return well("")
}

func users(_ context.Context, p *installation) answer {
	switch {
	case p.Users != "":
	case p.Local != nil && p.Local.NoLogin:
		return warn("give the switch --users instead of --no-login", "every client at %s is admin, without login", p.GNMI)
	case p.Local != nil && p.Local.ClientCA != "":
		return well("none: clients have certificates of %s", p.Local.ClientCA)
	case p.Local != nil:
		return well("none: every client on this machine is admin")
	default:
		return unknown("the file of users was not given (--users)")
	}
	f, err := os.Open(p.Users)
	if err != nil {
		return fail("", "%v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unknown("%v", err)
	}
	list, err := access.ReadUsers(f)
	switch mode := info.Mode().Perm(); {
	case err != nil:
		return fail("correct the line; mgmtd does not start with it", "%s: %v", p.Users, err)
	case mode&0o077 != 0:
		return fail("chmod 600 "+p.Users, "%s has mode %04o: others can read or change it", p.Users, mode)
	}
	if a, wrong := rolesOf(list, p); wrong {
		return a
	}
	clear := 0
	for _, u := range list {
		if !u.Hashed() {
			clear++
		}
	}
	if clear > 0 {
		return warn("write them as bcrypt hashes: tamtam users set NAME --users "+p.Users,
			"%d of %d passwords are in clear", clear, len(list))
	}
	return well("%d users", len(list))
}

// rolesOf checks the roles of the users.
func rolesOf(users []access.User, p *installation) (a answer, wrong bool) {
	var lines io.Reader
	if p.Roles != "" {
		f, err := os.Open(p.Roles)
		if err != nil {
			return fail("name the file that mgmtd has as --roles", "%v", err), true
		}
		defer f.Close()
		lines = f
	}
	roles, err := access.ParseRoles(lines)
	if err != nil {
		return fail("correct the line; mgmtd does not start with it", "%s: %v", p.Roles, err), true
	}
	switch err := roles.Check(users); {
	case err == nil:
		return answer{}, false
	case p.Roles == "":
		return unknown("%s: %v, and the file of other roles was not given (--roles)", p.Users, err), true
	default:
		return fail("correct the line, or make the role; mgmtd does not start without it", "%s: %v", p.Users, err), true
	}
}

// dataDir checks the directory and the keys in it.
func dataDir(_ context.Context, p *installation) answer {
	info, err := os.Stat(p.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return warn("mgmtd makes it; or give its directory with --data", "%s is not there", p.Data)
	case err != nil:
		return unknown("%v", err)
	case !info.IsDir():
		return fail("move it away", "%s is no directory", p.Data)
	case info.Mode().Perm()&0o022 != 0:
		return fail("chmod go-w "+p.Data, "%s has mode %04o: others can change what is in it", p.Data, info.Mode().Perm())
	}
	keys, err := filepath.Glob(filepath.Join(p.Data, "*.key"))
	if err != nil {
		return unknown("%v", err)
	}
	for _, key := range keys {
		info, err := os.Stat(key)
		if err != nil {
			return unknown("%v", err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			return fail("chmod 600 "+key+", and make a new one", "%s has mode %04o: others can read it", key, mode)
		}
	}
	return well("%s, %d keys", p.Data, len(keys))
}

const leastFree = 64 << 20

func freeSpace(_ context.Context, p *installation) answer {
	free, err := freeBytes(p.Data)
	if err != nil {
		return unknown("%v", err)
	}
	return judgeFree(p.Data, free)
}

func judgeFree(dir string, free uint64) answer {
	const do = "remove what is not needed; recordings (--record) grow for ever"
	switch {
	case free == 0:
		return fail(do, "%s is full", dir)
	case free < leastFree:
		return warn(do, "%d KiB are left for %s", free>>10, dir)
	}
	return well("%d MiB are left for %s", free>>20, dir)
}

// processes looks for a daemon that runs twice in one network on the same Redis.
func processes(_ context.Context, p *installation) answer {
	list, err := p.tamtams()
	if err != nil {
		return unknown("%v", err)
	}
	if len(list) == 0 {
		return unknown("no daemon of tamtam is to be seen on this machine, or in this container")
	}
	type work struct{ network, what string }
	seen := map[work]int{}
	var names []string
	for _, o := range list {
		at := work{o.network(), o.works()}
		if other, twice := seen[at]; twice {
			return fail(fmt.Sprintf("stop one: kill %d", o.pid), "processes %d and %d are both %s", other, o.pid, o.works())
		}
		seen[at] = o.pid
		names = append(names, fmt.Sprintf("%s (%d)", o.name, o.pid))
	}
	return well("%s", strings.Join(names, ", "))
}

const leastFiles = 1024

func descriptors(_ context.Context, p *installation) answer {
	list, err := p.tamtams()
	if err != nil || len(list) == 0 {
		return unknown("no daemon of tamtam is to be seen on this machine, or in this container")
	}
	reported := fail("", "")
	reported.verdict = OK
	for _, o := range list {
		open, limit, err := o.files()
		do := fmt.Sprintf("raise the limit (ulimit -n, LimitNOFILE=) of %s and restart it", o.name)
		switch {
		case err != nil:
			reported = unknown("%s (%d): %v", o.name, o.pid, err)
		case float64(open) > nearlyFull*float64(limit):
			return fail(do, "%s (%d) has %d of %d files open", o.name, o.pid, open, limit)
		case limit < leastFiles:
			return warn(do, "%s (%d) may open %d files only", o.name, o.pid, limit)
		case reported.verdict == OK:
			reported.found = strings.TrimPrefix(reported.found+fmt.Sprintf(", %s %d of %d", o.name, open, limit), ", ")
		}
	}
	return reported
}

// versions compares the executable of each daemon with this one.
func versions(_ context.Context, p *installation) answer {
	list, err := p.tamtams()
	if err != nil || len(list) == 0 {
		return unknown("this is %s; no daemon is to be seen on this machine, or in this container", p.Version)
	}
	for _, o := range list {
		same, err := o.runsThis()
		switch {
		case err != nil:
			return unknown("this is %s; %s (%d): %v", p.Version, o.name, o.pid, err)
		case !same:
			return warn("restart it", "%s (%d) runs another file than this one, %s", o.name, o.pid, p.Version)
		}
	}
	return well("all run %s", p.Version)
}

func livePorts(_ context.Context, p *installation) answer {
	list, err := p.tamtams()
	if err != nil || len(list) == 0 {
		return unknown("no daemon of tamtam is to be seen on this machine, or in this container")
	}
	wired := 0
	for _, o := range list {
		if !o.wired() {
			continue
		}
		wired++
		may, err := o.mayRaw()
		switch {
		case err != nil:
			return unknown("%s (%d): %v", o.name, o.pid, err)
		case !may:
			return fail("give it CAP_NET_RAW: setcap cap_net_raw+ep, AmbientCapabilities=, or cap_add",
				"%s (%d) has --port and lacks CAP_NET_RAW", o.name, o.pid)
		}
	}
	if wired == 0 {
		return well("none is wired")
	}
	return well("%d processes with --port have CAP_NET_RAW", wired)
}
