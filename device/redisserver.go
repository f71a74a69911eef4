package device

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"tamtam/mgmt/configfile"
)

// RedisArgs returns the options that make a redis-server the database of a switch. Every write is in the file before it
// is answered. So a killed server loses none, and a crash of the host loses at most the writes of one second.
func RedisArgs() []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "60 1", "--notify-keyspace-events", "KEA",
	}
}

// ExecRedis replaces this process by a redis-server with its data in dir, [RedisArgs] and further options. It returns
// only if that fails. It imports the data of a server that ran without appendonly, and logs that.
func ExecRedis(dir string, options []string, log io.Writer) error {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		// Debian's redis-tools has the program under this name, without the service that Debian's redis-server starts.
		var other error
		if server, other = exec.LookPath("redis-check-rdb"); other != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	if err := appendToDump(dir, log); err != nil {
		return fmt.Errorf("redis: data in %s: %w", dir, err)
	}
	args := append([]string{"redis-server", "--port", "6379", "--dir", dir}, RedisArgs()...)
	return fmt.Errorf("redis: %s: %w", server, syscall.Exec(server, append(args, options...), os.Environ()))
}

// appendToDump turns an RDB dump that has no append-only file into the beginning of one. With appendonly, Redis would
// ignore the dump and start empty. An append-only file may begin with a dump.
func appendToDump(dir string, log io.Writer) error {
	dump, err := os.Open(filepath.Join(dir, "dump.rdb"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dump.Close()
	if info, err := dump.Stat(); err != nil || info.Size() == 0 {
		return err
	}
	appends := filepath.Join(dir, "appendonly.aof")
	for _, there := range []string{appends, filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")} {
		if _, err := os.Stat(there); err == nil || !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	fmt.Fprintf(log, "tamtam: %s has a dump.rdb and no file of appends: the dump becomes the beginning of one\n", dir)
	return configfile.Write(appends, dump, 0o660)
}
