"""The rooms keep their directions: every #include points where docs/ARCHITECTURE.md allows it, and foreign headers
are included in the one room that fences them."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]

# room -> rooms it may include from (itself always)
MAY_USE = {
    "common/base": set(),
    "common/model": {"common/base"},
    "common/wire": {"common/base", "common/model"},
    "common/signature": {"common/base", "common/model"},
    "common/conf": {"common/base", "common/model", "common/frontend", "common/signature"},
    "common/frontend": {"common/base", "common/model"},
    "common/io": {"common/base"},
    "common/cache": {"common/base", "common/model", "common/io"},
    "coordinator/core": {"common/base", "common/model", "common/frontend", "common/signature"},
    "coordinator/io": {"common/base", "common/model", "common/wire", "common/io", "common/cache", "coordinator/core"},
    "coordinator/courier": {"common/base", "common/io"},
    "coordinator/view": {"common/base", "common/model", "coordinator/core"},
    "coordinator/cli": {"common/base", "common/model", "common/wire", "common/conf", "common/io", "common/frontend", "common/signature",
                        "common/cache", "coordinator/core", "coordinator/io", "coordinator/view"},
    "worker/core": {"common/base", "common/model"},
    "worker/image": {"common/base"},
    "worker/probe": {"common/base", "common/model", "common/io", "worker/image"},
    "worker/io": {"common/base", "common/model", "common/wire", "common/io", "common/frontend", "common/cache",
                  "common/signature", "worker/core", "worker/probe", "worker/image"},
}

# foreign header -> rooms that may include it
FENCED = {
    r"czmq|zmq": {"common/io"},
    r"msgpack": {"common/wire"},
    r"libfyaml": {"common/conf"},
    r"sqlite3": {"coordinator/io"},
    r"openssl": {"common/base"},
    r"jansson": {"coordinator/io", "coordinator/courier", "coordinator/view", "coordinator/cli", "worker/io"},
    r"dlfcn": {"worker/probe"},
    r"libssh": {"coordinator/courier"},
    r"sys/epoll|sys/socket|pthread|fcntl|unistd": {"common/base", "common/io", "common/cache", "common/conf", "coordinator/io",
                                                   "coordinator/courier", "coordinator/cli", "worker/io", "worker/probe", "worker/image"},
    r"time|sys/ioctl": {"common/base", "common/io", "common/conf", "coordinator/io", "coordinator/courier", "coordinator/cli",
                        "coordinator/view", "worker/io"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def sources():
    for room in MAY_USE:
        for path in sorted((TOP / room).glob("*.[ch]")):
            yield room, path


class Layering(unittest.TestCase):
    def test_every_include_points_where_its_room_may_look(self):
        for room, path in sources():
            for kind, name in INCLUDE.findall(path.read_text()):
                if kind == "<":
                    continue
                target = str(pathlib.PurePosixPath(name).parent)
                self.assertTrue(target == room or target in MAY_USE[room], f"{path}: {name} is out of bounds for {room}")

    def test_foreign_headers_stay_behind_their_fence(self):
        for room, path in sources():
            for kind, name in INCLUDE.findall(path.read_text()):
                for pattern, rooms in FENCED.items():
                    if kind == "<" and re.match(rf"(?:{pattern})(?:\.h|/|_|$)", name):
                        self.assertIn(room, rooms, f"{path}: <{name}> belongs to {sorted(rooms)}")

    def test_every_room_has_sources(self):
        for room in MAY_USE:
            self.assertTrue(list((TOP / room).glob("*.c")), f"{room} is empty: this test would prove nothing there")


if __name__ == "__main__":
    unittest.main()
