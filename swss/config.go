package swss

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
)

// A DBName is SONiC's name of a database.
type DBName string

// SONiC's databases.
const (
	ApplDB           DBName = "APPL_DB"
	ASICDB           DBName = "ASIC_DB"
	CountersDB       DBName = "COUNTERS_DB"
	LogLevelDB       DBName = "LOGLEVEL_DB"
	ConfigDB         DBName = "CONFIG_DB"
	PFCWatchdogDB    DBName = "PFC_WD_DB"
	FlexCounterDB    DBName = "FLEX_COUNTER_DB"
	StateDB          DBName = "STATE_DB"
	SNMPOverlayDB    DBName = "SNMP_OVERLAY_DB"
	RESTAPIDB        DBName = "RESTAPI_DB"
	GBASICDB         DBName = "GB_ASIC_DB"
	GBCountersDB     DBName = "GB_COUNTERS_DB"
	GBFlexCounterDB  DBName = "GB_FLEX_COUNTER_DB"
	ChassisAppDB     DBName = "CHASSIS_APP_DB"
	ChassisStateDB   DBName = "CHASSIS_STATE_DB"
	ApplStateDB      DBName = "APPL_STATE_DB"
	DPUApplDB        DBName = "DPU_APPL_DB"
	DPUApplStateDB   DBName = "DPU_APPL_STATE_DB"
	DPUStateDB       DBName = "DPU_STATE_DB"
	DPUCountersDB    DBName = "DPU_COUNTERS_DB"
	EventDB          DBName = "EVENT_DB"
	BMPStateDB       DBName = "BMP_STATE_DB"
	defaultInstance         = "redis"
	defaultRedisPort        = 6379
	defaultRedisHost        = "127.0.0.1"
	databasesInRedis        = 64 // for the embedded server; SONiC too configures more than Redis' default of 16
	unixPrefix              = "unix:"
	embeddedName            = "embedded"
)

// A Config holds the locations of SONiC's databases: the contents of database_config.json.
type Config struct {
	Instances map[string]Instance
	Databases map[DBName]Database
}

// An Instance is one Redis server.
type Instance struct {
	Hostname       string `json:"hostname"`
	Port           int    `json:"port"`
	UnixSocketPath string `json:"unix_socket_path"`
	// Username is the ACL user; "" means Redis' default user. The first line of PasswordFile is the password; if
	// PasswordFile is "", connections do not authenticate. SONiC's own files set neither.
	Username     string `json:"username"`
	PasswordFile string `json:"password_path"`
}

// login returns the user and the password. It reads the file for every connection, so that a password can be changed
// while daemons run.
func (i Instance) login() (user, password string, err error) {
	text, err := os.ReadFile(i.PasswordFile)
	if err != nil {
		return "", "", fmt.Errorf("the password at Redis: %w", err)
	}
	password, _, _ = strings.Cut(string(text), "\n")
	if password = strings.TrimSuffix(password, "\r"); password == "" {
		return "", "", fmt.Errorf("the password at Redis: the first line of %s is empty", i.PasswordFile)
	}
	return i.Username, password, nil
}

// Login returns the configuration with a user and a password file for all instances.
func (c Config) Login(user, passwordFile string) (Config, error) {
	c.Instances = maps.Clone(c.Instances)
	for name, i := range c.Instances {
		i.Username, i.PasswordFile = user, passwordFile
		if _, _, err := i.login(); err != nil {
			return c, err
		}
		c.Instances[name] = i
	}
	return c, nil
}

// A Database is one numbered database of an instance. Separator separates table and key.
type Database struct {
	ID        int    `json:"id"`
	Separator string `json:"separator"`
	Instance  string `json:"instance"`
}

// network returns the address to dial: the unix socket if it exists, else TCP.
func (i Instance) network() (network, addr string) {
	if i.UnixSocketPath != "" {
		if _, err := os.Stat(i.UnixSocketPath); err == nil || i.Port == 0 {
			return "unix", i.UnixSocketPath
		}
	}
	return "tcp", net.JoinHostPort(i.Hostname, strconv.Itoa(i.Port))
}

// defaultDatabases returns SONiC's default assignment of ids and separators.
func defaultDatabases() map[DBName]Database {
	dbs := map[DBName]Database{}
	for id, db := range []struct {
		names string
		sep   string
	}{
		{"APPL_DB", ":"}, {"ASIC_DB", ":"}, {"COUNTERS_DB", ":"}, {"LOGLEVEL_DB", ":"}, {"CONFIG_DB", "|"},
		{"PFC_WD_DB FLEX_COUNTER_DB", ":"}, {"STATE_DB", "|"}, {"SNMP_OVERLAY_DB", "|"}, {"RESTAPI_DB", "|"},
		{"GB_ASIC_DB", ":"}, {"GB_COUNTERS_DB", ":"}, {"GB_FLEX_COUNTER_DB", ":"}, {"CHASSIS_APP_DB", "|"},
		{"CHASSIS_STATE_DB", "|"}, {"APPL_STATE_DB", ":"}, {"DPU_APPL_DB", ":"}, {"DPU_APPL_STATE_DB", "|"},
		{"DPU_STATE_DB", "|"}, {"DPU_COUNTERS_DB", ":"}, {"EVENT_DB", "|"}, {"BMP_STATE_DB", "|"},
	} {
		for _, name := range strings.Fields(db.names) {
			dbs[DBName(name)] = Database{ID: id, Separator: db.sep, Instance: defaultInstance}
		}
	}
	return dbs
}

// DefaultConfig returns SONiC's default databases, all in the server at addr:
// "host:port" or "unix:/path".
func DefaultConfig(addr string) (Config, error) {
	cfg := Config{Databases: defaultDatabases()}
	inst := Instance{Hostname: defaultRedisHost, Port: defaultRedisPort}
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		inst = Instance{UnixSocketPath: path}
	} else if addr != "" {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return Config{}, fmt.Errorf("redis address %q: want host:port or unix:/path: %w", addr, err)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Config{}, fmt.Errorf("redis address %q: port %q: want 1..65535", addr, port)
		}
		if host == "" {
			host = defaultRedisHost
		}
		inst = Instance{Hostname: host, Port: int(n)}
	}
	cfg.Instances = map[string]Instance{defaultInstance: inst}
	return cfg, nil
}

// LoadConfig reads a database_config.json.
func LoadConfig(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("database config: %w", err)
	}
	cfg, err := ParseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("database config %s: %w", path, err)
	}
	return cfg, nil
}

// ParseConfig decodes the text of a database_config.json. A database that the text omits gets SONiC's default id and
// separator, in the instance "redis".
func ParseConfig(text []byte) (Config, error) {
	var file struct {
		Instances map[string]Instance `json:"INSTANCES"`
		Databases map[DBName]Database `json:"DATABASES"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return Config{}, err
	}
	cfg := Config{Instances: file.Instances, Databases: defaultDatabases()}
	if len(cfg.Instances) == 0 {
		return Config{}, fmt.Errorf("INSTANCES is empty: want at least %q", defaultInstance)
	}
	for name, inst := range cfg.Instances {
		if inst.UnixSocketPath == "" && (inst.Port <= 0 || inst.Port > 65535) {
			return Config{}, fmt.Errorf("INSTANCES %s: port %d: want 1..65535 or a unix_socket_path", name, inst.Port)
		}
		if inst.Username != "" && inst.PasswordFile == "" {
			return Config{}, fmt.Errorf("INSTANCES %s: username %q: want a password_path, the file of its password", name,
				inst.Username)
		}
	}
	for name, db := range file.Databases {
		if db.ID < 0 || db.Separator == "" {
			return Config{}, fmt.Errorf("DATABASES %s: id %d, separator %q: want an id >= 0 and a separator",
				name, db.ID, db.Separator)
		}
		if _, ok := cfg.Instances[db.Instance]; !ok {
			return Config{}, fmt.Errorf("DATABASES %s: instance %q is not in INSTANCES", name, db.Instance)
		}
	}
	maps.Copy(cfg.Databases, file.Databases)
	return cfg, nil
}
