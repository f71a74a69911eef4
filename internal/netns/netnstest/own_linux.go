// Package netnstest runs tests in a separate network namespace. It holds only the code for that.
package netnstest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// variable is set in the process that runs in a separate network.
const variable = "TAMTAM_TEST_OWN_NETWORK"

// Own reports whether the process has a separate network namespace, whose only interface is lo, which is down. If not,
// it runs the test, or the subtest, again in a process that has one, in parallel with other parallel tests. The caller
// must then return.
// The test is skipped if no such process can run, or if it is skipped there. Without root the process runs in a user
// namespace.
func Own(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) != "" {
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is not installed")
	}
	t.Parallel() // the other process does not affect other tests

	name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$" // for a subtest, this matches only that subtest
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
