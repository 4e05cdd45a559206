"""held.py - a rung whose program waits, on each host by itself, until the test lets it go: so no test depends on how
long something takes."""
import os


class Held:
    """`folder` is one that every host sees at the same path. `rung` goes into a ladder."""

    def __init__(self, folder, hosts, name="held"):
        self.name, self.marks, self.fifos = name, folder / f"{name}.marks", {}
        for host in hosts:
            path = folder / f"{name}-{host}"
            os.mkfifo(path)
            # Open for both, it neither blocks nor loses what a host that stands still has not read yet: fifo(7).
            self.fifos[host] = os.open(path, os.O_RDWR)
        self.waiting = set(self.fifos)
        script = f"hostname >>{self.marks}; read word <{folder}/{name}-$(hostname)"
        self.rung = {"id": name, "command": ["sh", "-c", script], "timeout": "20m"}

    def begun(self):
        """The hosts on which it began, as often as it did."""
        return sorted(self.marks.read_text().split()) if self.marks.exists() else []

    def let_go(self, hosts=None):
        """Their programs end well, those on hosts that stand still as soon as they go on."""
        for host in sorted(self.waiting & set(self.fifos if hosts is None else hosts)):
            os.write(self.fifos[host], b"go\n")
            self.waiting.remove(host)

    def close(self):
        for descriptor in self.fifos.values():
            os.close(descriptor)
        self.fifos.clear()
