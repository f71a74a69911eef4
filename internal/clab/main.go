// Command clab replaces containerlab for the topology files of this tree, where that is not installed. It starts the
// nodes, then joins them with veth pairs that it moves into the running containers. It needs Docker, root and iproute2.
//
//	clab up FILE.clab.yaml           nodes are the containers clab-NAME-NODE
//	clab exec FILE NODE COMMAND...   runs a command of this machine in the network of a node
//	clab down FILE
//
// A switch gets only the capabilities NET_RAW and NET_ADMIN, and a read-only file system; containerlab itself gives
// containers all capabilities. Nodes whose image is not the switch's are hosts. A host is a network without processes,
// since its image may not exist here. Its exec lines run with the programs of this machine.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clab:", err)
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			os.Exit(failed.ExitCode())
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("want up FILE, exec FILE NODE COMMAND... or down FILE")
	}
	f, err := read(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "up":
		if err := f.up(); err != nil {
			return errors.Join(err, f.down())
		}
		return nil
	case "down":
		return f.down()
	case "exec":
		if len(args) < 4 || f.Topology.Nodes[args[2]] == nil {
			return fmt.Errorf("exec: want a node, one of %v, and a command", f.names())
		}
		return f.exec(args[2], args[3:])
	}
	return fmt.Errorf("%q: want up, exec or down", args[0])
}

// switchImage returns the image of switches. A node of another image is a host.
func switchImage() string {
	if image := os.Getenv("TAMTAM_IMAGE"); image != "" {
		return image
	}
	return "tamtam"
}

// linkMTU is the MTU of containerlab's links.
const linkMTU = "9500"

func (f *file) container(node string) string { return "clab-" + f.Name + "-" + node }

func (f *file) up() error {
	for _, name := range f.names() {
		if err := f.start(name, f.Topology.Nodes[name]); err != nil {
			return err
		}
	}
	for i, l := range f.Topology.Links {
		if err := f.join(i, l); err != nil {
			return err
		}
	}
	for _, name := range f.names() {
		for _, line := range f.Topology.Nodes[name].Exec {
			if err := f.exec(name, strings.Fields(line)); err != nil {
				return fmt.Errorf("%s: %s: %w", name, line, err)
			}
		}
	}
	return nil
}

// start runs the container of a node.
func (f *file) start(name string, n *node) error {
	args := []string{"run", "-d", "--name", f.container(name), "--hostname", name, "--cap-drop", "ALL", "--read-only",
		"--security-opt", "no-new-privileges", "--tmpfs", "/tmp"}
	if n.Image != switchImage() {
		_, err := output("docker", append(args, "--no-healthcheck", switchImage(), "run", "ports")...)
		return err
	}
	args = append(args, "--cap-add", "NET_RAW", "--cap-add", "NET_ADMIN", "--tmpfs", "/var/lib/tamtam")
	for _, b := range n.Binds {
		from, to, _ := strings.Cut(b, ":")
		from, err := filepath.Abs(filepath.Join(f.dir, from))
		if err != nil {
			return err
		}
		args = append(args, "-v", from+":"+to)
	}
	for k, v := range n.Env {
		args = append(args, "-e", k+"="+v)
	}
	args = append(args, "-e", fmt.Sprintf("CLAB_INTFS=%d", f.interfaces(name)), n.Image)
	_, err := output("docker", append(args, strings.Fields(n.Cmd)...)...)
	return err
}

// interfaces returns how many interfaces a node gets.
func (f *file) interfaces(name string) (n int) {
	for _, l := range f.Topology.Links {
		nodes, _ := l.ends()
		for _, on := range nodes {
			if on == name {
				n++
			}
		}
	}
	return n
}

// join creates a pair of veths and moves one end to each of the two nodes.
func (f *file) join(number int, l link) error {
	nodes, interfaces := l.ends()
	var temporary [2]string
	for i := range temporary {
		temporary[i] = fmt.Sprintf("cl%d-%d-%d", os.Getpid(), number, i)
	}
	if _, err := output("ip", "link", "add", temporary[0], "mtu", linkMTU, "type", "veth",
		"peer", "name", temporary[1], "mtu", linkMTU); err != nil {
		return err
	}
	for i, node := range nodes {
		pid, err := f.pid(node)
		if err != nil {
			return errors.Join(err, quiet("ip", "link", "del", temporary[i]))
		}
		if _, err := output("ip", "link", "set", temporary[i], "netns", pid, "name", interfaces[i]); err != nil {
			return errors.Join(err, quiet("ip", "link", "del", temporary[i]))
		}
		if _, err := output("nsenter", "-t", pid, "-n", "ip", "link", "set", interfaces[i], "up"); err != nil {
			return err
		}
	}
	return nil
}

// pid returns the id of a process in the network of a node.
func (f *file) pid(node string) (string, error) {
	pid, err := output("docker", "inspect", "-f", "{{.State.Pid}}", f.container(node))
	if err == nil && pid == "0" {
		log, _ := output("docker", "logs", "--tail", "5", f.container(node))
		err = fmt.Errorf("%s does not run: %s", f.container(node), log)
	}
	return pid, err
}

func (f *file) exec(node string, command []string) error {
	pid, err := f.pid(node)
	if err != nil {
		return err
	}
	cmd := exec.Command("nsenter", slices.Concat([]string{"-t", pid, "-n"}, command)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func (f *file) down() error {
	var errs []error
	for _, name := range f.names() {
		errs = append(errs, quiet("docker", "rm", "-f", f.container(name)))
	}
	return errors.Join(errs...)
}

func quiet(name string, args ...string) error {
	_, err := output(name, args...)
	return err
}

// output runs a command and returns what it prints, without the last newline.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
	}
	return text, nil
}
