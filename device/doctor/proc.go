package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A process is a process of tamtam on this machine, as /proc describes it.
type process struct {
	pid  int
	dir  string
	name string // name of the daemon; "up" means all daemons
	args []string
}

// tamtams lists the running daemons of tamtam, as processes in /proc.
func tamtams(proc string) ([]process, error) {
	dirs, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var list []process
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		o, err := readProcess(filepath.Join(proc, d.Name()), pid)
		if err != nil {
			continue // the process has ended
		}
		if o.name = daemonOf(o.args); o.name != "" {
			list = append(list, o)
		}
	}
	return list, nil
}

// tamtams lists the processes of the installation: that of Local, whatever its program is called, or all daemons of
// tamtam on this machine.
func (p *installation) tamtams() ([]process, error) {
	if p.Local == nil {
		return tamtams(p.proc)
	}
	o, err := readProcess(filepath.Join(p.proc, strconv.Itoa(p.Local.PID)), p.Local.PID)
	if err != nil {
		return nil, err
	}
	o.name = "up"
	return []process{o}, nil
}

// readProcess returns a process without the daemon that it runs.
func readProcess(dir string, pid int) (process, error) {
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	return process{pid: pid, dir: dir, args: args}, err
}

// daemonOf returns the daemon that a command line runs, "" if none.
func daemonOf(args []string) string {
	if filepath.Base(args[0]) != "tamtam" || len(args) < 2 {
		return ""
	}
	switch {
	case args[1] == "up":
		return "up"
	case args[1] == "run" && len(args) > 2 && args[2] != "ports": // "run ports" only holds interfaces
		return args[2]
	}
	return ""
}

// flag returns the value of a flag in the command line.
func (o process) flag(name string) string {
	for i, arg := range o.args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
		if arg == name && i+1 < len(o.args) {
			return o.args[i+1]
		}
	}
	return ""
}

// works returns the daemon that the process runs and its location. Two processes with the same result must not both
// run.
func (o process) works() string {
	redis := o.flag("--redis") + o.flag("--database-config")
	if o.name == "up" && (redis == "" || redis == "embedded") {
		return fmt.Sprintf("tamtam up with its own Redis, process %d", o.pid)
	}
	if redis == "" {
		redis = "127.0.0.1:6379"
	}
	return o.name + " on " + redis
}

// network returns the network namespace of the process, "" if it cannot be read. An address has another meaning in
// another namespace, such as a container's.
func (o process) network() string {
	name, _ := os.Readlink(filepath.Join(o.dir, "ns", "net"))
	return name
}

func (o process) wired() bool { return o.flag("--port") != "" }

// files returns the number of open files, and its limit.
func (o process) files() (open, limit uint64, err error) {
	list, err := os.ReadDir(filepath.Join(o.dir, "fd"))
	if err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "limits"))
	if err != nil {
		return 0, 0, err
	}
	_, rest, found := bytes.Cut(text, []byte("Max open files"))
	words := strings.Fields(string(rest))
	if !found || len(words) == 0 {
		return 0, 0, fmt.Errorf("%s/limits has no line Max open files", o.dir)
	}
	if words[0] == "unlimited" {
		return uint64(len(list)), 1 << 62, nil
	}
	limit, err = strconv.ParseUint(words[0], 10, 64)
	return uint64(len(list)), limit, err
}

// runsThis reports whether the process runs the same executable file as this process. After an upgrade it does not.
func (o process) runsThis() (bool, error) {
	theirs, err := os.Stat(filepath.Join(o.dir, "exe"))
	if err != nil {
		return false, err
	}
	name, err := os.Executable()
	if err != nil {
		return false, err
	}
	ours, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	return os.SameFile(theirs, ours), nil
}

const capNetRaw = 13

// mayRaw reports whether the process may open raw sockets.
func (o process) mayRaw() (bool, error) {
	text, err := os.ReadFile(filepath.Join(o.dir, "status"))
	if err != nil {
		return false, err
	}
	_, rest, _ := bytes.Cut(text, []byte("CapEff:"))
	words := strings.Fields(string(rest))
	if len(words) == 0 {
		return false, fmt.Errorf("%s/status has no line CapEff", o.dir)
	}
	set, err := strconv.ParseUint(words[0], 16, 64)
	return set&(1<<capNetRaw) != 0, err
}
