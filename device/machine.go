package device

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tamtam/mgmt/models"
)

// Machine returns the function for mgmt.Config.Host, which reports on the machine that runs mgmtd. It reads Linux'
// /proc. Facts that cannot be read there are reported as unknown. version is that of tamtam.
func Machine(version string) func(table string) map[string]map[string]string {
	m := &machine{proc: "/proc", etc: "/etc", zone: os.Getenv("TZ"), version: version, now: time.Now, space: spaceOf}
	return m.table
}

// A machine is described by directories like Linux' /proc and /etc.
type machine struct {
	proc, etc, version string
	zone               string // time zone of the environment (TZ); empty means that of /etc
	now                func() time.Time
	space              func(path string) (space, bool)

	mu        sync.Mutex
	processed window[map[cpuUser]time.Duration] // CPU times of processes
	short     window[map[string]cpuTimes]       // times of processors, by index
	long      window[map[string]cpuTimes]
}

// A window holds the last reading, and the one before, which is at least a period older.
type window[T any] struct{ base, last reading[T] }

// A reading is a value at a time, which is zero if there is none.
type reading[T any] struct {
	at    time.Time
	value T
}

// since returns the last reading that is at least a period older than a new one.
func (w *window[T]) since(now reading[T], period time.Duration) reading[T] {
	if now.at.Sub(w.last.at) >= period {
		w.base, w.last = w.last, now
	}
	return w.base
}

// cpuTimes holds the time of a processor since the boot, in ticks: all of it, and what it did not idle.
type cpuTimes struct{ all, busy uint64 }

// A cpuUser identifies a process. Its number alone may have been another's before.
type cpuUser struct {
	pid     string
	started time.Duration // since the boot
}

// Least times over which the use of processors is averaged.
const (
	cpuPeriod     = 3 * time.Second
	cpuLongPeriod = time.Minute
)

// A space describes the bytes of a file system: all, those that a user may still take, and those that are taken.
type space struct{ size, available, utilized uint64 }

// userHz is the unit of times in /proc, in Hz; it is the same on all of Linux' architectures.
const userHz = 100

const tick = time.Second / userHz

func (m *machine) table(name string) map[string]map[string]string {
	switch name {
	case models.HostFacts:
		return map[string]map[string]string{"switch": m.facts()}
	case models.HostState:
		return map[string]map[string]string{"switch": m.state()}
	case models.HostProcesses:
		return m.processes()
	case models.HostMounts:
		return m.mounts()
	case models.HostCPUs:
		return m.cpus()
	}
	return nil
}

// mounts returns the file systems on devices. One whose size is unknown is left out.
func (m *machine) mounts() map[string]map[string]string {
	text, err := os.ReadFile(filepath.Join(m.proc, "mounts"))
	if err != nil {
		return nil
	}
	rows := map[string]map[string]string{}
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`) // as proc(5) escapes
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[0], "/dev/") && words[1] != "/" {
			continue
		}
		at := plain.Replace(words[1])
		s, ok := m.space(at)
		if !ok || !utf8.ValidString(at) {
			continue
		}
		const megabyte = 1_000_000
		rows[at] = map[string]string{
			"size": strconv.FormatUint(s.size/megabyte, 10), "available": strconv.FormatUint(s.available/megabyte, 10),
			"utilized": strconv.FormatUint(s.utilized/megabyte, 10),
		}
	}
	return rows
}

func (m *machine) facts() map[string]string {
	row := map[string]string{"software-version": m.version}
	if boot, ok := m.boot(); ok {
		row["boot-time"] = strconv.FormatInt(boot.UnixNano(), 10)
	}
	return row
}

// boot returns the time when the kernel was started.
func (m *machine) boot() (time.Time, bool) {
	text, err := m.field("stat", "btime")
	seconds, bad := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err == nil && bad == nil
}

// field returns the word that follows a name at the beginning of a line of a file. It returns "" if there is none.
func (m *machine) field(file, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(m.proc, file))
	if err != nil {
		return "", err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == name {
			return words[1], nil
		}
	}
	return "", lines.Err()
}

func (m *machine) state() map[string]string {
	row := map[string]string{"current-datetime": m.now().UTC().Format(time.RFC3339Nano)}
	if text, err := os.ReadFile(filepath.Join(m.proc, "uptime")); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if up, err := strconv.ParseFloat(first, 64); err == nil && up >= 0 && up < math.MaxInt64/1e9 {
			row["up-time"] = strconv.FormatInt(int64(up*1e9), 10)
		}
	}
	for leaf, name := range map[string]string{"physical": "MemTotal", "free": "MemFree", "available": "MemAvailable"} {
		if v, ok := m.bytesOf(name); ok {
			row[leaf] = strconv.FormatUint(v, 10)
		}
	}
	all, known := m.bytesOf("MemTotal")
	if left, ok := m.bytesOf("MemAvailable"); ok && known && left <= all {
		row["used"] = strconv.FormatUint(all-left, 10)
	}
	if name := m.zoneName(); name != "" {
		row["timezone-name"] = name
	}
	if domains := m.searched(); domains != "" {
		row["search"] = domains
		row["domain-name"], _, _ = strings.Cut(domains, " ")
	}
	return row
}

// zoneName returns the name of the time zone, or "" if it has none, such as a zone that is a file of its own.
func (m *machine) zoneName() string {
	if zone := strings.TrimPrefix(m.zone, ":"); zone != "" && !filepath.IsAbs(zone) {
		return zone
	}
	file, err := os.Readlink(filepath.Join(m.etc, "localtime"))
	if errors.Is(err, fs.ErrNotExist) {
		return "UTC"
	}
	_, name, _ := strings.Cut(file, "/zoneinfo/")
	return name
}

// searched returns the domains of the last line "search" or "domain" of resolv.conf, as the resolver uses it.
func (m *machine) searched() (domains string) {
	text, err := os.ReadFile(filepath.Join(m.etc, "resolv.conf"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && (words[0] == "search" || words[0] == "domain") {
			domains = strings.Join(words[1:], " ")
		}
	}
	return domains
}

// bytesOf returns an amount of memory.
func (m *machine) bytesOf(name string) (uint64, bool) {
	text, err := m.field("meminfo", name+":")
	kib, bad := strconv.ParseUint(text, 10, 54)
	return kib << 10, err == nil && bad == nil
}

// processes returns the visible processes by pid. A process that ends during the read is left out.
func (m *machine) processes() map[string]map[string]string {
	dirs, err := os.ReadDir(m.proc)
	if err != nil {
		return nil
	}
	boot, known := m.boot()
	all, _ := m.bytesOf("MemTotal")
	rows := map[string]map[string]string{}
	used := map[cpuUser]time.Duration{}
	now := reading[map[cpuUser]time.Duration]{m.now(), used}
	for _, d := range dirs {
		if _, err := strconv.ParseUint(d.Name(), 10, 63); err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.proc, d.Name(), "stat"))
		if err != nil {
			continue
		}
		row, spent, started, ok := processRow(string(text))
		if !ok {
			continue
		}
		used[cpuUser{d.Name(), started}] = spent
		if known {
			row["start-time"] = strconv.FormatInt(boot.Add(started).UnixNano(), 10)
		}
		if used, err := strconv.ParseUint(row["memory-usage"], 10, 64); err == nil && used <= all && all > 0 {
			row["memory-utilization"] = strconv.FormatFloat(math.Round(float64(used)*100/float64(all)), 'f', 0, 64)
		}
		rows[d.Name()] = row
	}
	if !known {
		boot = now.at // the time since the start of a process is unknown
	}
	for pid, percent := range m.utilization(now, boot) {
		rows[pid]["cpu-utilization"] = percent
	}
	return rows
}

// utilization returns the share that each process has had of the time of all processors, in percent, since a reading at
// least cpuPeriod ago. Without such a reading of the process, it is the share since the process started.
func (m *machine) utilization(now reading[map[cpuUser]time.Duration], boot time.Time) map[string]string {
	m.mu.Lock()
	base := m.processed.since(now, cpuPeriod)
	m.mu.Unlock()
	shares := map[string]string{}
	processors := len(m.processors()) - 1 // without their sum
	for who, used := range now.value {
		was, ok := base.value[who]
		since := base.at
		if !ok {
			since = boot.Add(who.started)
		}
		if used >= was && processors > 0 && now.at.After(since) {
			shares[who.pid] = percent(float64(used-was), float64(processors)*float64(now.at.Sub(since)))
		}
	}
	return shares
}

// percent returns a share of all, rounded and at most 100.
func percent(part, all float64) string {
	return strconv.FormatFloat(min(math.Round(part*100/all), 100), 'f', 0, 64)
}

// cpus returns the use of each processor by index, and that of all of them as ALL.
func (m *machine) cpus() map[string]map[string]string {
	now := reading[map[string]cpuTimes]{m.now(), m.processors()}
	m.mu.Lock()
	short, long := m.short.since(now, cpuPeriod), m.long.since(now, cpuLongPeriod)
	m.mu.Unlock()
	rows := map[string]map[string]string{}
	for index, is := range now.value {
		rows[index] = map[string]string{}
		share := func(base reading[map[string]cpuTimes], leaf string) bool {
			was, ok := base.value[index]
			if !ok || is.all <= was.all || is.busy < was.busy {
				return false
			}
			rows[index][leaf] = percent(float64(is.busy-was.busy), float64(is.all-was.all))
			return true
		}
		share(short, "instant")
		if share(long, "avg") {
			rows[index]["interval"] = strconv.FormatInt(int64(now.at.Sub(long.at)), 10)
		}
	}
	return rows
}

// processors returns the times of each processor by index, and of all of them as ALL. The result is empty if they are
// not known.
func (m *machine) processors() map[string]cpuTimes {
	text, err := os.ReadFile(filepath.Join(m.proc, "stat"))
	if err != nil {
		return nil
	}
	list := map[string]cpuTimes{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		const idle, wait, steal = 4, 5, 8 // proc(5); guest times are part of user times
		if len(words) <= steal {
			continue
		}
		index, ok := strings.CutPrefix(words[0], "cpu")
		if index == "" {
			index = "ALL"
		}
		var sum cpuTimes
		for i, word := range words[1 : steal+1] {
			n, err := strconv.ParseUint(word, 10, 56)
			ok = ok && err == nil
			if sum.all += n; i+1 != idle && i+1 != wait {
				sum.busy += n
			}
		}
		if ok {
			list[index] = sum
		}
	}
	return list
}

// processRow parses a line of /proc/PID/stat (proc(5)). It has a name in parentheses, which can itself contain
// parentheses, and numbers.
func processRow(line string) (row map[string]string, used, started time.Duration, ok bool) {
	from, to := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if from < 0 || to < from {
		return nil, 0, 0, false
	}
	words := strings.Fields(line[to+1:]) // the third and later fields
	const user, system, start, resident = 14 - 3, 15 - 3, 22 - 3, 24 - 3
	if len(words) <= resident {
		return nil, 0, 0, false
	}
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(words[i], 10, 40) // also fits in 64 bits as ns or as bytes of pages
		ok = ok && err == nil
		return n
	}
	ok = true
	row = map[string]string{
		"name":             strings.ToValidUTF8(line[from+1:to], "?"),
		"cpu-usage-user":   strconv.FormatUint(number(user)*uint64(tick), 10),
		"cpu-usage-system": strconv.FormatUint(number(system)*uint64(tick), 10),
		"memory-usage":     strconv.FormatUint(number(resident)*uint64(os.Getpagesize()), 10),
	}
	return row, time.Duration(number(user)+number(system)) * tick, time.Duration(number(start)) * tick, ok
}
