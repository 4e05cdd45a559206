"""tpu_vms.py - hosts of the lab as TPU virtual machines: each has TPU functions on its PCI bus, a metadata server of its own at
169.254.169.254, a shared folder, and programs that load the stand-in for libtpu.

What a real one has of these: docs/guide/tpu-vm.md, and the sources in worker/standin.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import lab
from nethost import TPU_UID
from netlab import NetLab

METADATA = "169.254.169.254"
PCI_DEVICES = {"v6e": "0x006f", "v5p": "0x0062"}     # vendor 0x1ae0: jax-ml/jax:jax/_src/hardware_utils.py
SERVER = """
import http.server, json, sys
ATTRIBUTES = json.loads(sys.argv[1])
ATTRIBUTES["?recursive=true"] = json.dumps({"attributes": ATTRIBUTES})
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/computeMetadata/v1/instance/").removeprefix("attributes/")
        known = name in ATTRIBUTES and self.headers.get("Metadata-Flavor") == "Google"
        self.send_response(200 if known else 404)
        self.send_header("Metadata-Flavor", "Google")
        self.end_headers()
        self.wfile.write(ATTRIBUTES.get(name, "").encode())
        with open("/run/lab/asked", "a") as asked:
            asked.write(name + "\\n")
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("169.254.169.254", 80), Answer).serve_forever()
"""


class TpuVms(NetLab):
    """`hosts` machines of 4 chips; bounds: those of the slice in hosts."""

    def __init__(self, hosts, accelerator, bounds):
        library = lab.BUILD / "bin" / "libtpu-stand-in.so"
        self.servers = []
        self.accelerator, self.bounds = accelerator, bounds
        super().__init__(hosts)
        shutil.copy(library, self.files / library.name)
        self.cache = self.files / "mnt"
        self.cache.mkdir(mode=0o755)
        shutil.chown(self.cache, TPU_UID, TPU_UID)
        self._pci_bus(self.files / "pci")
        self._share(self.node_run)
        for number, host in enumerate(self.hosts):
            self._become_a_tpu_vm(number, host)
        self.become(TPU_UID)    # who launches the slice is an ordinary user, too

    def _begin(self, count):
        # Known before the hosts begin: sshd gives it to whatever a connection starts.
        self.variables = f" TPU_LIBRARY_PATH={self.files / 'libtpu-stand-in.so'}"
        super()._begin(count)

    def _pci_bus(self, folder):
        generation = self.accelerator.split("-")[0]
        for chip in range(4):
            function = folder / f"0000:00:0{chip}.0"
            function.mkdir(parents=True)
            for name, text in (("vendor", "0x1ae0"), ("device", PCI_DEVICES[generation]), ("class", "0x120000")):
                (function / name).write_text(text + "\n")

    def _share(self, run):
        """The cache's storage, on a host or on the node: it is looked at from there, too."""
        run("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        run("mkdir", "/mnt/shared")
        run("mount", "--bind", self.cache, "/mnt/shared")

    def attributes(self, number):
        environment = {"ACCELERATOR_TYPE": self.accelerator, "HOST_BOUNDS": self.bounds, "CHIPS_PER_HOST_BOUNDS": "2,2,1",
                       "WORKER_ID": str(number), "WRAP": "false,false,false", "ALT": "false", "ZONE": "lab"}
        return {"accelerator-type": self.accelerator, "agent-worker-number": str(number),
                "worker-network-endpoints": ",".join(f"{host.name}:{host.name}:{host.address}" for host in self.hosts),
                "tpu-env": "".join(f"{key}: '{value}'\n" for key, value in environment.items())}

    def _become_a_tpu_vm(self, number, host):
        host.run("ip", "addr", "add", f"{METADATA}/32", "dev", "lo")
        host.run("mount", "--bind", self.files / "pci", "/sys/bus/pci/devices")
        self._share(host.run)
        host.run("sh", "-c", f"echo {METADATA} metadata.google.internal metadata >> /run/lab/hosts")
        pid = host.process.pid
        enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--net", f"--pid=/proc/{pid}/ns/pid_for_children"]
        self.servers.append(subprocess.Popen([*enter, sys.executable, "-c", SERVER, json.dumps(self.attributes(number))],
                                             stdin=subprocess.DEVNULL, cwd="/"))

    def asked(self, host):
        """The attributes that were asked for on this host, in order."""
        path = host.path("/run/lab/asked")
        return path.read_text().split() if path.exists() else []

    def slice_of(self, shipped, name="slice.yaml"):
        """A shipped slice file with only the addresses of its hosts changed."""
        text = pathlib.Path(shipped).read_text()
        for number, host in enumerate(self.hosts):
            text = text.replace(f"10.0.0.{number + 1}}}", f"{host.address}}}")
        return self.write(name, text)

    def user_home(self):
        """A home whose ~/.ssh lets its owner in, as the default of the slice file wants it."""
        folder = self.root / "user"
        (folder / ".ssh").mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(self.root / "user_key", folder / ".ssh" / "id_ed25519")
        shutil.copy(self.root / "known_hosts", folder / ".ssh" / "known_hosts")
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, TPU_UID, TPU_UID)
        return folder

    def close(self):
        super().close()
        for server in self.servers:
            server.wait(10)
