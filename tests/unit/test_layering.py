"""The rooms keep their directions: every #include and every symbol points where CMakeLists.txt lets it, no rooms use each
other in a circle, at most two files of a room do, and foreign headers are included in the rooms that fence them."""
import collections
import functools
import os
import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SLICEUP_BUILD"])
FILES_IN_A_CIRCLE = 2


ROOM = re.compile(r"^room \((\w+) (\S+)\s([^)]*)\)", re.M)


def rooms_of_cmake():
    """folder -> folders it may use, as `room (name folder uses...)` says"""
    calls = ROOM.findall((TOP / "CMakeLists.txt").read_text())
    folder = {name: path for name, path, _ in calls}
    return {path: {folder[word] for word in uses.split() if word in folder} for _, path, uses in calls}


MAY_USE = rooms_of_cmake()

# foreign header -> rooms that may include it
FENCED = {
    r"zmq": {"common/io"},
    r"czmq": {"coordinator/monitor"},
    r"msgpack": {"common/wire"},
    r"libfyaml": {"common/conf"},
    r"sqlite3": {"coordinator/journal", "coordinator/catalogue", "coordinator/run"},
    r"openssl": {"common/base"},
    r"dlfcn": {"worker/probe", "worker/standin"},
    r"libssh": {"coordinator/courier"},
    r"microhttpd|zlib": {"coordinator/web"},
    r"n?curses|term": {"coordinator/terminal"},
    r"jansson": {"coordinator/cli", "coordinator/courier", "coordinator/journal", "coordinator/launch", "coordinator/monitor",
                 "coordinator/view", "coordinator/web", "worker/attempt", "worker/builtin", "worker/facts", "worker/preload", "worker/protocol", "worker/run"},
    # view prints dates; it asks no clock
    r"time|sys/(?:time|ioctl)": {"common/io", "coordinator/catalogue", "coordinator/cli", "coordinator/courier", "coordinator/journal",
                                 "coordinator/launch", "coordinator/terminal", "coordinator/view", "worker/environment", "worker/facts", "worker/run", "worker/sandbox", "worker/standin"},
}
# What touches the world: never in these.
PURE = {"common/model", "common/wire", "common/frontend", "common/logs", "coordinator/core", "coordinator/verdict",
        "coordinator/picture", "coordinator/story", "coordinator/report", "coordinator/view", "worker/core"}
WORLD = r"sys/epoll|sys/socket|pthread|fcntl|unistd"

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def sources():
    for room in MAY_USE:
        for path in sorted((TOP / room).glob("*.[ch]")):
            yield room, path


def includes(kind):
    for room, path in sources():
        for mark, name in INCLUDE.findall(path.read_text()):
            if mark == kind:
                yield room, path, name


def objects():
    """(source, object) of every file of a room, as it was built"""
    for name, room, _ in ROOM.findall((TOP / "CMakeLists.txt").read_text()):
        for path in BUILD.glob(f"CMakeFiles/{name}.dir/{room}/*.c.o"):
            source = str(path.relative_to(BUILD)).split(".dir/", 1)[1][:-2]
            if (TOP / source).exists():
                yield source, path


@functools.cache
def symbols():
    """source -> what it defines, and what it needs"""
    sources_of = {str(path): source for source, path in objects()}
    listed = subprocess.run(["nm", "-P", "-A", *sources_of], capture_output=True, text=True, check=True).stdout
    defines, needs = collections.defaultdict(set), collections.defaultdict(set)
    for where, name, kind in (line.split()[:3] for line in listed.splitlines()):
        source = sources_of[where.rstrip(":")]
        if kind in "TDBRC":
            defines[source].add(name)
        elif kind == "U":
            needs[source].add(name)
    return defines, needs


@functools.cache
def uses_of_files():
    """source -> the sources whose symbols it needs; coordinator and worker are two programs"""
    defines, needs = symbols()
    homes = collections.defaultdict(list)
    for source, names in defines.items():
        for name in names:
            homes[name].append(source)
    uses = {source: set() for source in defines}
    for source, names in needs.items():
        reach = (source.split("/")[0], "common")
        for name in names:
            uses.setdefault(source, set()).update(
                home for home in homes[name] if home != source and home.split("/")[0] in reach)
    return uses


def circles(uses):
    """Sets of nodes that reach each other (Tarjan), by an explicit stack."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in uses:
        if root in index:
            continue
        work = [(root, iter(uses[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(uses.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return [circle for circle in found if len(circle) > 1]


# Of a room that fences a library and is pure besides: the one file that includes it, and what touches the world.
FENCE_FILES = {"coordinator/terminal": "screen.c"}


class Layering(unittest.TestCase):
    def test_every_include_points_where_its_room_may_look(self):
        for room, path, name in includes('"'):
            target = str(pathlib.PurePosixPath(name).parent)
            self.assertTrue(target == room or target in MAY_USE[room], f"{path}: {name} is out of bounds for {room}")

    def test_every_symbol_comes_from_where_its_room_may_look(self):
        uses = uses_of_files()
        self.assertGreater(len(uses), 300, f"{BUILD} holds too few objects for this test to prove anything")
        for source, others in uses.items():
            room = str(pathlib.PurePosixPath(source).parent)
            for other in others:
                target = str(pathlib.PurePosixPath(other).parent)
                self.assertTrue(target == room or target in MAY_USE[room], f"{source} uses {other}: out of bounds for {room}")

    def test_no_two_files_define_the_same_name(self):
        homes = collections.defaultdict(list)
        for source, names in symbols()[0].items():
            for name in names:
                homes[name].append(source)
        self.assertEqual({}, {name: files for name, files in homes.items() if len(files) > 1 and name != "main"})

    def test_no_rooms_use_each_other_in_a_circle(self):
        self.assertEqual(circles(MAY_USE), [])

    def test_no_more_than_two_files_use_each_other_in_a_circle(self):
        large = [circle for circle in circles(uses_of_files()) if len(circle) > FILES_IN_A_CIRCLE]
        self.assertEqual(large, [])

    def test_foreign_headers_stay_behind_their_fence(self):
        for room, path, name in includes("<"):
            for pattern, rooms in FENCED.items():
                if re.match(rf"(?:{pattern})(?:\.h|/|_|$)", name):
                    self.assertIn(room, rooms, f"{path}: <{name}> belongs to {sorted(rooms)}")

    def test_pure_rooms_touch_nothing(self):
        for room, path, name in includes("<"):
            self.assertFalse(room in PURE and re.match(rf"(?:{WORLD})\.h$", name), f"{path}: <{name}> in a room that is pure")

    def test_a_fence_file_alone_touches_the_world(self):
        for room, path, name in includes("<"):
            if room in FENCE_FILES and re.match(rf"(?:{WORLD}|n?curses|term|sys/ioctl)\.h$", name):
                self.assertEqual(FENCE_FILES[room], path.name, f"{path}: <{name}>")

    def test_every_room_has_sources(self):
        for room in MAY_USE:
            self.assertTrue(list((TOP / room).glob("*.c")), f"{room} is empty: this test would prove nothing there")

    def test_a_circle_is_found(self):
        self.assertEqual(circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}), [["a", "b", "c"]])
        self.assertEqual(circles({"a": ["b"], "b": ["c"], "c": []}), [])


class Libraries(unittest.TestCase):
    """What czmq brings (systemd, gcrypt, lzma, ...) never comes to a host, nor into the process that speaks ssh."""

    @staticmethod
    def libraries(program):
        return subprocess.run(["ldd", BUILD / "bin" / program], capture_output=True, text=True, check=True).stdout

    def test_only_the_coordinators_program_has_czmq(self):
        self.assertIn("libczmq", self.libraries("sliceup"))
        for program in ("sliceup-worker", "sliceup-courier"):
            told = self.libraries(program)
            self.assertIn("libc.so", told)
            for name in ("czmq", "systemd", "gcrypt"):
                self.assertNotIn(name, told, program)


class Frontends(unittest.TestCase):
    """A frontend is a row of common/frontend: who asks for one by its name elsewhere makes it more. Names of libraries in tables of
    packages and of frames are none of it, and `plain` is the word for no framework."""

    def test_no_code_outside_of_the_table_asks_for_one_by_its_name(self):
        asks = re.compile(r'(?:text_is|text_starts|strcmp|strncmp) \([^;]*?"(?:jax|torch_xla|torch-xla|torchax)"\)')
        found = [str(path.relative_to(TOP)) for folder in ("common", "coordinator", "worker") for path in (TOP / folder).rglob("*.[ch]")
                 if path.parent.name != "frontend" and asks.search(path.read_text())]
        self.assertEqual([], found)
        self.assertTrue(asks.search('if (text_is (draft->plan.profile.frontend, "torch_xla"))'))


if __name__ == "__main__":
    unittest.main()
