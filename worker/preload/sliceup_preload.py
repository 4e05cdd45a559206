"""An interpreter that has imported what a frontend's programs import, and waits: each attempt of a canary is a copy of it.

The worker starts it (preload.c) with its socket as descriptor 3 and the names of the modules as its argument. The socket
brings the library of inside.c as a descriptor, then one request a packet with its descriptors; it answers with one packet: "ready", the pid of
the copy, or a sentence that begins with a word. It makes no client of a device and runs no line of a program itself.
"""

import sys

sys.path[0:1] = []  # the folder of this file, which no program has: nothing may be imported from there

import builtins
import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import signal
import socket
import traceback
import types
import warnings

CHANNEL_FD = 3
REQUEST_BYTES = 1 << 20
FDS = 6  # of the namespaces, of the root there, output, channel, report, and the word that the copy may begin


def report(channel, text):
    channel.send(text.encode("ascii", "backslashreplace")[:400])


def load(channel, modules):
    """Returns the library and the variables that the imports set, with what was there before."""
    _, fds, _, _ = socket.recv_fds(channel, 16, 1)
    library = ctypes.PyDLL(f"/proc/self/fd/{fds[0]}")
    os.close(fds[0])
    before = dict(os.environ)
    for module in modules:
        importlib.import_module(module)
    made = {name: (before.get(name), value) for name, value in os.environ.items() if before.get(name) != value}
    gc.collect()
    gc.freeze()  # else collecting garbage in a copy would copy every page
    return library, made


def set_variables(wanted, made):
    """What the imports set of a variable holds in the copy as well, unless the attempt has it otherwise."""
    os.environ.clear()
    os.environ.update(wanted)
    for name, (before, value) in made.items():
        if wanted.get(name) == before:
            os.environ[name] = value


def read_program(words, paths):
    """Makes the file __main__, with its folder first in the path, as an interpreter does that was given it: returns its code
    and its namespace."""
    sys.argv = words
    sys.path[0:0] = [os.path.dirname(os.path.realpath(words[0])), *paths]
    main = types.ModuleType("__main__")
    main.__file__, main.__builtins__ = words[0], builtins
    sys.modules["__main__"] = main
    with open(words[0], "rb") as file:
        return compile(file.read(), words[0], "exec", dont_inherit=True), main.__dict__


def end(error):
    """As an interpreter ends by an error, but for the frames of this file. Returns the status."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == end.__code__.co_filename:
        frames = frames.tb_next
    sys.excepthook(type(error), error.with_traceback(frames), frames)
    sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def catch_signals():
    """As an interpreter does when it begins: no process inherits handlers."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if faulthandler.is_enabled():
        faulthandler.disable()
        faulthandler.enable()


def become(library, request, made, fds):
    """In the copy: from here on it is the program, which is returned."""
    set_variables(request["env"], made)
    confine = [word.encode() for word in request["confine"]]
    words = (ctypes.c_char_p * (len(confine) + 1))(*confine, None) if confine else None
    _, _, output, program_channel, report_fd, _ = fds
    shown = " ".join([sys.executable, *request["words"]])
    library.sliceup_enter(output, program_channel, report_fd if confine else 0, request["directory"].encode(), shown.encode(),
                          len(confine), words)
    catch_signals()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # else every copy draws the same
    return read_program(request["words"], [path for path in request["env"].get("PYTHONPATH", "").split(":") if path])


def await_copy(between, told):
    os.waitpid(between, 0)  # whose child is the worker's from now on, so it can ask to die with the worker
    said = b"".join(iter(lambda: os.read(told, 4096), b"")).decode(errors="replace")
    return said.rpartition("!")[2] or "the process that makes the copy ended early"


def make_copy(channel, library, request, made, fds):
    """By way of a process that enters the namespaces, which only its children are in. Returns what the worker is told, the
    pid or a problem; in the copy the program, once the worker has accepted the pid."""
    told, telling = os.pipe()
    try:
        between = os.fork()
    except OSError as error:
        os.close(told)
        os.close(telling)
        return f"a process cannot be made: {error.strerror}"
    if between:
        os.close(telling)
        said = await_copy(between, told)
        os.close(told)
        return said
    try:
        code = library.sliceup_enter_namespaces(fds[0], request["namespaces"], fds[1])
        if code:
            raise OSError(code, "entering its namespaces: " + os.strerror(code))
        copied = os.fork()
        if copied:
            os.write(telling, str(copied).encode())
            os._exit(0)
        os.setsid()
        os.close(telling)
        if os.read(fds[5], 1) != b"g":
            os._exit(0)  # the worker waits no more, and has executed the program
        channel.detach()  # its number becomes that of the program's
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(telling, f"!the copy failed: {error}".encode())
        os._exit(1)
    return become(library, request, made, fds)


def serve(channel, library, made):
    """Returns the program in a copy of this process; in this one nothing, at its end."""
    while True:
        message, fds, _, _ = socket.recv_fds(channel, REQUEST_BYTES, FDS)
        if not message:
            return None
        told = make_copy(channel, library, json.loads(message), made, fds)
        if not isinstance(told, str):
            return told
        report(channel, told)
        for fd in fds:
            os.close(fd)


def main():
    channel = socket.socket(fileno=CHANNEL_FD)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    try:
        library, made = load(channel, sys.argv[1].split(","))
    except BaseException as error:
        report(channel, "failed: " + " ".join(traceback.format_exception_only(error)).strip())
        return None
    report(channel, "ready")
    return serve(channel, library, made)


program = main()
if program:  # called from here, so that its stacks have but one frame of this file
    try:
        exec(*program)
    except SystemExit:
        raise
    except BaseException as error:
        sys.exit(end(error))
