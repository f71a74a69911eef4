"""A stand-in for the Docker client, with the calls that the tests of sonic-swss make.

A container is a set of Linux namespaces with its own view of the root file system (root.sh). There are no images: the
container that shares the network of another runs SONiC's programs under supervisord, and every other one only holds
a network namespace. The environment variable SWSS_STATE names the folder for containers, SWSS_ADAPTER the folder with
the files of this adapter.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
import uuid

from . import errors

_ADAPTER = os.environ["SWSS_ADAPTER"]
_STATE = os.environ["SWSS_STATE"]
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ExecResult(tuple):
    """The exit code and the output of a program, as a tuple and by name."""

    def __new__(cls, exit_code, output):
        return super().__new__(cls, (exit_code, output))

    exit_code = property(lambda self: self[0])
    output = property(lambda self: self[1])


class Container:
    """A running container."""

    def __init__(self, name, environment, network, volumes):
        self.name = name
        self.id = uuid.uuid4().hex
        self.short_id = self.id[:12]
        self._environment = {"PATH": _PATH, "HOME": "/root", "HOSTNAME": name, "LANG": "C.UTF-8",
                             "PYTHONDONTWRITEBYTECODE": "1"}
        self._environment.update((v, os.environ[v]) for v in
                                 ("SWSS_ADAPTER", "SONIC_BINARIES", "SONIC_PYTHON", "TAMTAM"))
        self._environment.update(environment)
        self._network, self._volumes = network, volumes
        self._dir = os.path.join(_STATE, name)
        os.makedirs(self._dir)
        self.start()

    @property
    def attrs(self):
        network = f"container:{self._network.id}" if self._network else "bridge"
        return {"Id": self.id, "Name": "/" + self.name, "State": {"Pid": self.pid},
                "HostConfig": {"NetworkMode": network}}

    def start(self):
        """Start the container's first process."""
        if self._network is None:
            self._process = subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"])
            self.pid = self._process.pid
            _wait(lambda: os.readlink(f"/proc/{self.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
            for command in ("link set lo up", "link add eth0 address 02:42:ac:11:00:02 type bridge",
                            "link set eth0 up"):
                self.exec_run("ip " + command)
        else:
            # The tests poll, or wait for a second, and expect that the switch is done by then.
            mounts = [f"{source}:{v['bind']}" for source, v in self._volumes.items()]
            self._process = subprocess.Popen(
                ["nice", "-n", "-5", "nsenter", "-t", str(self._network.pid), "-n",
                 "unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child",
                 os.path.join(_ADAPTER, "root.sh"), self._dir, *mounts, "--", os.path.join(_ADAPTER, "init.sh")],
                env=self._environment, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                stdout=open(os.path.join(os.environ["OUT"], "container.log"), "ab"))
            children = f"/proc/{self._process.pid}/task/{self._process.pid}/children"
            _wait(lambda: open(children).read().strip())
            self.pid = int(open(children).read())
            _wait(lambda: os.readlink(f"/proc/{self.pid}/root") != "/")
        with open(self._dir + "/attrs.json", "w") as f:
            json.dump(self.attrs, f)

    def stop(self):
        """End all processes of the container."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def restart(self):
        """End all processes and start the first one again. Changed files stay."""
        self.stop()
        self.start()

    def remove(self, force=False):
        """End all processes and remove changed files."""
        if self.name not in _containers:
            raise errors.NotFound(self.name)
        self.stop()
        del _containers[self.name]
        shutil.rmtree(self._dir)

    def exec_run(self, cmd, stdout=True, stderr=True, **_):
        """Run a program in the container; a string is split like a shell's words."""
        words = shlex.split(cmd) if isinstance(cmd, str) else list(cmd)
        namespaces = ["-n"] if self._network is None else ["-m", "-u", "-i", "-n", "-p", "-r", "-w"]
        run = subprocess.run(["nsenter", "-t", str(self.pid), *namespaces, *words], env=self._environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT if stderr else subprocess.DEVNULL)
        return ExecResult(run.returncode, run.stdout)

    def put_archive(self, path, data):
        """Extract a tar archive in a folder of the container."""
        subprocess.run(["nsenter", "-t", str(self.pid), "-m", "-p", "-r", "-w", "tar", "-C", path, "-x"], input=data,
                       check=True)
        return True

    def get_archive(self, path):
        """Return the parts of a tar archive of a folder of the container."""
        run = self.exec_run(["tar", "-C", os.path.dirname(path.rstrip("/")), "-c", os.path.basename(path.rstrip("/"))],
                            stderr=False)
        return iter([run.output]), {"name": path}


class _Containers:
    def run(self, image, environment=(), network_mode=None, volumes=None, name=None, **_):
        """Start a container. The image is ignored."""
        network = None
        if network_mode:
            network = self.get(network_mode.split(":", 1)[1])
        name = name or "vs" + uuid.uuid4().hex[:5]
        _containers[name] = Container(name, dict(e.split("=", 1) for e in environment or ()), network, volumes or {})
        return _containers[name]

    def get(self, name):
        """Return the container with this name."""
        if name not in _containers:
            raise errors.NotFound(name)
        return _containers[name]

    def list(self, **_):
        """Return all containers."""
        return list(_containers.values())


class _Client:
    containers = _Containers()


_containers = {}


def from_env():
    """Return a client."""
    return _Client()


def _wait(ready):
    while True:
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.01)
