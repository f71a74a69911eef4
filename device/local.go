package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// A Local describes a switch that runs on this machine in one process. Its file in the data directory exists while it
// runs, so that tools find a switch whose addresses are not the default ones.
type Local struct {
	PID      int    `json:"pid"`
	Redis    string `json:"redis"`     // address of its Redis, HOST:PORT or unix:PATH
	Embedded bool   `json:"embedded"`  // whether this Redis runs in the process
	GNMI     string `json:"gnmi"`      // address of its gNMI server
	Users    string `json:"users"`     // its file of users; empty if no login is required
	Roles    string `json:"roles"`     // its file of roles; empty means only the built-in ones
	ClientCA string `json:"client-ca"` // the CA of its clients' certificates; empty if they need none
	NoLogin  bool   `json:"no-login"`  // whether it serves other machines without login
}

func localFile(data string) string { return filepath.Join(data, "up.json") }

// A DataClaim is the exclusive use of a data directory by a switch.
type DataClaim struct{ file *os.File }

// ClaimData locks the data directory of a switch that is about to start, and creates the directory. It returns an error
// if a running switch has the directory. The lock of a process that was killed is gone, so that its file is not taken
// for that of a running switch.
func ClaimData(data string) (*DataClaim, error) {
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(localFile(data), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		err = fmt.Errorf("%s: a running switch has this data directory: end it, or give this one another --data: %w",
			f.Name(), err)
	} else {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &DataClaim{f}, nil
}

// Publish writes the file by which tools find the switch, once it has started.
func (c *DataClaim) Publish(l Local) error { return json.NewEncoder(c.file).Encode(l) }

// Release removes the file at the end of the switch, and with it the lock.
func (c *DataClaim) Release() error { return errors.Join(os.Remove(c.file.Name()), c.file.Close()) }

// FindLocal returns the switch of a data directory. It returns false if none runs.
func FindLocal(data string) (l Local, ok bool) {
	f, err := os.Open(localFile(data))
	if err != nil {
		return Local{}, false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return Local{}, false // its process has ended without removing the file
	}
	text, err := io.ReadAll(f)
	return l, err == nil && json.Unmarshal(text, &l) == nil
}
