package main

import (
	"bytes"
	"context"
	_ "embed" // the configuration
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed config_db.json
var configText []byte

// Places of the switch.
const (
	redisAddr   = "127.0.0.1:6379"
	redisSocket = "/run/redis/redis.sock"
	toolLimit   = 60 * time.Second // of one run of a tool
	rowLimit    = 15 * time.Second // until a row has its value
)

// databases are SONiC's numbers of databases.
var databases = map[string]int{"APPL_DB": 0, "COUNTERS_DB": 2, "CONFIG_DB": 4, "FLEX_COUNTER_DB": 5, "STATE_DB": 6}

// A bench is a switch with hosts, and the environment of SONiC's utilities.
type bench struct {
	options
	ctx    context.Context
	work   string // a folder that is deleted at the end
	env    []string
	tamtam *exec.Cmd
	log    *os.File
}

// newBench mounts what SONiC's utilities expect at fixed places. The mounts end with the mount namespace.
func newBench(ctx context.Context, o options) (*bench, error) {
	src := filepath.Join(o.folder, "src", "sonic-utilities")
	for _, path := range []string{filepath.Join(src, "show", "main.py"), filepath.Join(o.folder, "py", "swsscommon")} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("the folder is not complete: %w", err)
		}
	}
	work, err := os.MkdirTemp("", "sonicutils")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, ctx: ctx, work: work}
	built := filepath.Join(o.folder, "src", "sonic-buildimage")
	path := []string{filepath.Join(work, "stubs"), filepath.Join(o.folder, "py"), src, filepath.Join(src, "scripts")}
	for _, p := range []string{"sonic-py-common", "sonic-config-engine", "sonic-yang-mgmt"} {
		path = append(path, filepath.Join(built, "src", p))
	}
	path = append(path, filepath.Join(o.folder, "src", "libyang-python"), filepath.Join(o.folder, "src", "pyangbind"))
	b.env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "PYTHONPATH=" + strings.Join(path, ":"),
		"PYTHONWARNINGS=ignore", "LC_ALL=C.UTF-8", "COLUMNS=200", "USER=admin", "HOME=" + work, "TAMTAM=" + o.tamtam}
	b.env = append(b.env, "DATA="+b.data())
	return b, b.install(src, built)
}

// install writes programs, stubs and files of a SONiC image.
func (b *bench) install(src, built string) error {
	bin := filepath.Join(b.work, "bin")
	files := map[string]string{
		filepath.Join(b.work, "config_db.json"): string(configText),
	}
	for name, text := range stubs {
		files[filepath.Join(b.work, "stubs", name)] = text
	}
	for name, entry := range entryPoints {
		module, function, _ := strings.Cut(entry, ":")
		files[filepath.Join(bin, name)] = fmt.Sprintf("#!/usr/bin/python3\nimport sys\nfrom %s import %s as main\n"+
			"sys.argv[0] = %q\nsys.exit(main())\n", module, function, name)
	}
	for name, text := range programs {
		files[filepath.Join(bin, name)] = text
	}
	scripts, err := os.ReadDir(filepath.Join(src, "scripts"))
	if err != nil {
		return err
	}
	copied := []string{filepath.Join(built, "src", "sonic-config-engine", "sonic-cfggen")}
	for _, s := range scripts {
		copied = append(copied, filepath.Join(src, "scripts", s.Name()))
	}
	for _, file := range copied {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if name := filepath.Join(bin, filepath.Base(file)); files[name] == "" {
			files[name] = string(text)
		}
	}
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			return err
		}
	}
	return b.sh(`set -e
for d in /etc/sonic /run/redis /usr/share/sonic /run/netns /var/cache /host /usr/local/yang-models; do mkdir -p $d; done
for d in /etc/sonic /run/redis /usr/share/sonic /run/netns /var/cache /host; do mount -t tmpfs none $d; done
mkdir -p /run/redis/sonic-db /usr/share/sonic/templates
mount --bind ` + bin + ` /usr/local/bin
mount -t sysfs none /sys
[ ! -d ` + b.folder + `/yang ] || mount --bind ` + b.folder + `/yang /usr/local/yang-models
ln -s ` + built + `/device/virtual /usr/share/sonic/device
cp ` + built + `/files/build_templates/*.j2 /usr/share/sonic/templates/
cp ` + built + `/files/image_config/copp/copp_cfg.j2 /usr/share/sonic/templates/
cat >/run/redis/sonic-db/database_config.json <<'X'
` + databaseConfig() + `
X
printf 'build_version: tamtam.0\ncommit_id: 0\nbuild_date: 0\nbuilt_by: tamtam\n' >/etc/sonic/sonic_version.yml
printf 'debian_version: 12\nkernel_version: 6\nasic_type: vs\n' >>/etc/sonic/sonic_version.yml
echo onie_platform=x86_64-kvm_x86_64-r0 >/host/machine.conf
ip link set lo up
`)
}

// databaseConfig returns SONiC's file of the databases.
func databaseConfig() string {
	var list []string
	for name, n := range map[string]int{"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "LOGLEVEL_DB": 3, "CONFIG_DB": 4,
		"FLEX_COUNTER_DB": 5, "PFC_WD_DB": 5, "STATE_DB": 6, "SNMP_OVERLAY_DB": 7, "RESTAPI_DB": 8, "APPL_STATE_DB": 14} {
		separator := ":"
		if name == "CONFIG_DB" || name == "STATE_DB" || name == "SNMP_OVERLAY_DB" || name == "RESTAPI_DB" {
			separator = "|"
		}
		list = append(list, fmt.Sprintf(`%q: {"id": %d, "separator": %q, "instance": "redis"}`, name, n, separator))
	}
	return `{"VERSION": "1.0", "INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": "` +
		redisSocket + `", "persistence_for_warm_boot": "yes"}}, "DATABASES": {` + strings.Join(list, ", ") + `}}`
}

// start makes the hosts, starts the switch, and waits until it forwards.
func (b *bench) start() (err error) {
	var ports []string
	for i, h := range []struct{ name, addr, router string }{
		{"h1", "10.10.0.1/24", "10.10.0.254"}, {"h2", "10.10.0.2/24", "10.10.0.254"},
		{"h3", "10.8.0.1/24", "10.8.0.254"}, {"h4", "10.12.0.1/24", "10.12.0.254"},
	} {
		port := fmt.Sprintf("eth%d", i+1)
		err = b.sh(fmt.Sprintf(`set -e
ip netns add %[1]s; ip link add %[2]s type veth peer name host netns %[1]s; ip link set %[2]s up
ip -n %[1]s link set lo up; ip -n %[1]s link set host address 02:11:00:00:00:0%[3]d; ip -n %[1]s link set host up
ip -n %[1]s addr add %[4]s dev host; ip -n %[1]s route add default via %[5]s`, h.name, port, i+1, h.addr, h.router))
		if err != nil {
			return err
		}
		ports = append(ports, "--port", fmt.Sprintf("Ethernet%d=%s", 4*i, port))
	}
	if b.log, err = os.Create(filepath.Join(b.work, "tamtam.log")); err != nil {
		return err
	}
	b.tamtam = exec.Command(b.options.tamtam, append([]string{"up", "--redis", "embedded:" + redisAddr + "," + redisSocket,
		"--config", filepath.Join(b.work, "config_db.json"), "--data", b.data(), "--gnmi", "127.0.0.1:18080", "--frr"},
		ports...)...)
	b.tamtam.Stdout, b.tamtam.Stderr = b.log, b.log
	if err := b.tamtam.Start(); err != nil {
		return err
	}
	for _, row := range []string{"PORT_TABLE|Ethernet8", "VLAN_TABLE|Vlan10"} {
		if err := b.await("STATE_DB", row, "state", func(v string) bool { return v == "ok" }, 2*time.Minute); err != nil {
			text, _ := os.ReadFile(b.log.Name())
			return fmt.Errorf("the switch does not come up: %w\n%s", err, text)
		}
	}
	return nil
}

func (b *bench) data() string { return filepath.Join(b.work, "data") }

// close ends the switch.
func (b *bench) close() {
	if b.tamtam != nil && b.tamtam.Process != nil {
		_ = b.tamtam.Process.Signal(syscall.SIGTERM) // error ignored: the switch may have ended
		_ = b.tamtam.Wait()
	}
	_ = os.RemoveAll(b.work) // error ignored: the folder is temporary
}

// sh runs a script of the shell, and returns an error with its output.
func (b *bench) sh(script string) error {
	cmd := exec.CommandContext(b.ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = b.work, b.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// output runs a command and returns its output. Standard error is included if all.
func (b *bench) output(command string, all bool) (string, error) {
	ctx, cancel := context.WithTimeout(b.ctx, toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.work, b.env, time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if all {
		out.Write(errs.Bytes())
	}
	if ctx.Err() != nil {
		return out.String(), fmt.Errorf("did not end in %v", toolLimit)
	}
	if err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, last(errs.String()+out.String(), 600))
	}
	return out.String(), nil
}

// last returns the end of a text.
func last(text string, most int) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-most):]
}

// row returns a row of a database.
func (b *bench) row(db, key string) (map[string]string, error) {
	out, err := exec.CommandContext(b.ctx, "redis-cli", "-s", redisSocket, "-n", strconv.Itoa(databases[db]), "HGETALL",
		key).Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	row := map[string]string{}
	for i := 0; i+1 < len(lines); i += 2 {
		row[lines[i]] = lines[i+1]
	}
	return row, err
}

// await waits until a field of a row has a value.
func (b *bench) await(db, key, field string, good func(string) bool, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		row, err := b.row(db, key)
		v, there := row[field]
		switch {
		case err == nil && good(v):
			return nil
		case time.Now().After(deadline):
			return errors.Join(err, fmt.Errorf("%s %s: %s is %q (there: %v); status %q, reason %q", db, key, field, v, there,
				row["status"], row["reason"]))
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// judge runs a tool and checks what its line says.
func (b *bench) judge(t tool) error {
	if t.kind == kindFigure {
		return comparisons[t.text](b, t.command)
	}
	out, err := b.output(t.command, true)
	switch {
	case strings.Contains(out, "Traceback"):
		return fmt.Errorf("ends in a traceback: %s", last(out, 400))
	case err != nil:
		return err
	case t.kind == kindShow && !t.want.MatchString(out):
		return fmt.Errorf("the output does not match %s:\n%s", t.text, last(out, 1200))
	case t.kind == kindRow:
		return b.await(t.row[0], t.row[1], t.row[2], t.want.MatchString, rowLimit)
	}
	return nil
}
