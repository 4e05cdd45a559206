"""terminal.py - a terminal for tests: a pseudo terminal of a given size, and what stands on its screen."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b(\[([?0-9;]*)([A-Za-z])|\].*?(\x07|\x1b\\)|[@-Z\\^_])", re.DOTALL)


class Screen:
    """Rows of characters under the few sequences that sliceup uses; anything else is noted as foreign."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.row, self.column = [""], 0, 0
        self.foreign, self.widest = [], 0

    def feed(self, text):
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match:
                    self.foreign.append(text[at:at + 12])
                    at += 1
                    continue
                self.obey(match)
                at = match.end()
            else:
                self.put(text[at])
                at += 1

    def obey(self, match):
        words, verb = match[2], match[3]
        if verb == "A":
            self.row = max(self.row - int(words or 1), 0)
        elif verb == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif verb == "J":
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        elif verb != "m":
            self.foreign.append(match[0])

    def put(self, character):
        if character == "\n":
            self.row += 1
            while len(self.lines) <= self.row:
                self.lines.append("")
        elif character == "\r":
            self.column = 0
        elif ord(character) < 32 or 127 <= ord(character) < 160:
            self.foreign.append(character)
        else:
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1
            self.widest = max(self.widest, self.column)

    @property
    def text(self):
        return "\n".join(self.lines)


class Terminal:
    """A command on a pseudo terminal; `own`: which is /dev/tty to it, and whose keys send it signals."""

    def __init__(self, argv, env, columns=80, rows=24, own=False):
        self.screen = Screen(columns, rows)
        self.raw = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        take = (lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if own else None
        self.process = subprocess.Popen(argv, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, preexec_fn=take)
        os.close(slave)

    def read(self, wait_s=0.1):
        """What has come by now; False once the other end is closed."""
        if not select.select([self.master], [], [], wait_s)[0]:
            return True
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += got
        return bool(got)

    def read_until(self, pattern, bound_s=60):
        end = time.monotonic() + bound_s
        while not re.search(pattern, self.raw):
            assert time.monotonic() < end, f"waited {bound_s} s for {pattern!r}:\n{self.raw!r}"
            assert self.read(), f"never said {pattern!r}:\n{self.raw!r}"

    def end(self, bound_s=120):
        """The exit status; the screen then shows what a person would see."""
        end = time.monotonic() + bound_s
        while self.read():
            assert time.monotonic() < end, f"runs for more than {bound_s} s:\n{self.raw!r}"
        os.close(self.master)
        self.screen.feed(self.raw.decode(errors="replace"))
        return self.process.wait(10)
