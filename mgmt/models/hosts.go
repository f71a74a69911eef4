package models

// Tables of Config.Host.
const (
	// HostFacts has the row "switch", which never changes: boot-time in ns since 1970, software-version.
	HostFacts = "facts"
	// HostState has the row "switch": current-datetime as in RFC 3339, up-time in ns, the memory physical, free,
	// available and used in bytes, timezone-name, and search, the domains of the resolver, separated by blanks.
	HostState = "state"
	// HostProcesses has a row by pid: name, start-time, cpu-usage-user and cpu-usage-system in ns, memory-usage in
	// bytes, cpu-utilization and memory-utilization in percent.
	HostProcesses = "processes"
	// HostMounts has a row by the path of each file system on a device: its size, available and utilized, in units of
	// 10^6 bytes.
	HostMounts = "mounts"
)
