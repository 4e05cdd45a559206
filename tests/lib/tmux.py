"""tmux.py - a real terminal for tests: a tmux server of their own, what stands on its screen, and keys pressed in it."""
import os
import pathlib
import re
import subprocess

import lab

ARTEFACTS = lab.BUILD / "tests/pictures"   # captured screens are kept here
COLOURS = re.compile(r"\x1b\[[0-9;]*m|\x0e|\x0f")


class Tmux:
    """One window with a command in it; it stays when the command ends."""

    def __init__(self, name, argv, env, columns=80, rows=24, kind="screen-256color"):
        self.name, self.socket = name, f"sliceup-test-{os.getpid()}-{name}"
        words = " ".join(f"{key}={value}" for key, value in env.items() if key != "TERM")
        self.status = pathlib.Path(env["SLICEUP_HOME"]).parent / f"status-{name}"
        command = " ".join(map(str, argv))
        shell = f"stty sane; env {words} {command}; echo $? > {self.status}; stty -a | grep icanon; exec sleep 600"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, "exec sleep 600")
        self.tmux("set-option", "-g", "default-terminal", kind)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.tmux("set-option", "-g", "window-size", "manual")
        self.resize(columns, rows)
        self.tmux("respawn-pane", "-k", shell)

    def tmux(self, *words):
        env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        done = subprocess.run(["tmux", "-u", "-L", self.socket, *map(str, words)], env=env, capture_output=True, text=True,
                              timeout=30)
        assert done.returncode == 0, f"tmux {words}: {done.stderr}"
        return done.stdout

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def painted(self):
        """The screen with its colours."""
        return self.tmux("capture-pane", "-p", "-e", "-N")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, pattern, bound_s=20):
        """The screen, once the pattern is on it."""
        def there():
            screen = self.screen()
            return screen if re.search(pattern, screen) else None
        return lab.wait_for(there, lambda: f"{pattern!r} on the screen:\n{self.screen()}", bound_s)

    def keep(self, step):
        """The screen as an artefact; returns it as text."""
        painted = self.painted()
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        (ARTEFACTS / f"{self.name}-{step}.ansi").write_text(painted)
        text = "\n".join(line.rstrip() for line in COLOURS.sub("", painted).splitlines())
        (ARTEFACTS / f"{self.name}-{step}.txt").write_text(text)
        return text

    def has_screen(self):
        """Is the alternate screen shown?"""
        return self.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def pid(self, name="sliceup"):
        """Of the command, below the pane's shell."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return next(int(pid) for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name)

    def ended(self, bound_s=20):
        """The exit status of the command; the terminal echoes again then."""
        lab.wait_for(lambda: self.status.exists() and self.status.read_text().strip(), lambda: f"the end:\n{self.screen()}", bound_s)
        self.wait(r"(?<![-\w])icanon .*(?<![-\w])echo ")
        return int(self.status.read_text())

    def close(self):
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, timeout=30, check=False)
