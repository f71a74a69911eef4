// Package netnstest has tests run in a network of their own.
//
// What belongs here: that.
package netnstest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// variable is set in the process that has a network of its own.
const variable = "TAMTAM_TEST_OWN_NETWORK"

// Own reports whether the process has a network namespace of its own, with no interface in it but lo, which is down.
// If not, it runs the test, or the case of one, again in a process that has, beside other tests that are parallel; then
// the caller has nothing more to do.
// The test is skipped where no such process may be, or where it is skipped there. Whoever is not root has it in a user
// namespace.
func Own(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) != "" {
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is not installed")
	}
	t.Parallel() // the other process disturbs nobody

	name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$" // of a case, it and no other
	cmd := exec.Command(os.Args[0], "-test.run="+name, "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("no network namespace may be made here: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "--- SKIP: "+t.Name()+" (") {
		t.Skip(out.String())
	}
	return false
}
