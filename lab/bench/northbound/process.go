package northbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A process is mgmtd.
type process struct {
	addr, dir string
	cmd       *exec.Cmd
	log       *bytes.Buffer
}

// start runs mgmtd on databases, and returns once it answers.
func start(ctx context.Context, command []string, r *swss.Redis) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &process{addr: l.Addr().String(), log: &bytes.Buffer{}}
	l.Close() // mgmtd uses the port
	if m.dir, err = tempDir(); err != nil {
		return nil, err
	}
	m.cmd = exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)],
		"--redis", r.Addr(), "--gnmi", m.addr, "--insecure", "--data", m.dir)...)
	m.cmd.Stderr, m.cmd.Stdout = m.log, m.log
	m.cmd.Cancel = func() error { return m.cmd.Process.Signal(syscall.SIGTERM) }
	if err := m.cmd.Start(); err != nil {
		os.RemoveAll(m.dir)
		return nil, err
	}
	conn, err := m.dial()
	if err != nil {
		return nil, errors.Join(err, m.stop())
	}
	defer conn.Close()
	features := path("tam", "features", "feature")
	features.Elem[2].Key = map[string]string{"feature-ref": "*"}
	for {
		ask, cancel := context.WithTimeout(ctx, time.Second)
		_, err := gpb.NewGNMIClient(conn).Get(ask, &gpb.GetRequest{Encoding: gpb.Encoding_PROTO, Path: []*gpb.Path{
			features}})
		cancel()
		if err == nil {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, m.stop(), errors.New(m.log.String()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (m *process) stop() error {
	defer os.RemoveAll(m.dir)
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := m.cmd.Wait(); err != nil {
		return fmt.Errorf("mgmtd: %w\n%s", err, m.log)
	}
	return nil
}

// dial connects to mgmtd.
func (m *process) dial(opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+m.addr, append(opts,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28), grpc.MaxCallSendMsgSize(1<<28)))...)
}

// processorTime returns the processor time of all threads of the process.
func (m *process) processorTime() (time.Duration, error) {
	threads := fmt.Sprintf("/proc/%d/task", m.cmd.Process.Pid)
	ids, err := os.ReadDir(threads)
	if err != nil {
		return 0, fmt.Errorf("processor time of another process is not known on this system: %w", err)
	}
	var sum time.Duration
	for _, id := range ids {
		text, err := os.ReadFile(filepath.Join(threads, id.Name(), "schedstat"))
		if errors.Is(err, os.ErrNotExist) {
			continue // the thread has just ended
		}
		if err != nil {
			return 0, err
		}
		spent, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(spent, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// memory returns the resident memory of the process, in bytes.
func (m *process) memory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", m.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm is %q", text)
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err
}
