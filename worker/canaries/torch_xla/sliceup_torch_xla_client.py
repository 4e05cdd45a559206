"""The live client of torch_xla: what it says of itself, and whether it runs one program over all devices (SPMD).

Nothing of it is read from a variable. torch_xla.runtime.device_type() is: it gives PJRT_DEVICE as it stands now, also
when that was changed after the client was made. The names of devices come from the client ("TPU:3"; seen with 2.7.0).
"""

import ctypes
import os

from sliceup_canary import Failure

VIRTUAL = "SPMD"
# Values of PJRT_DEVICE that are also the name of the client's platform; a plugin may have any other.
PLATFORMS = ("CPU", "TPU", "CUDA")


class Client:
    """Made with the first device. SPMD has to be on before that: later torch_xla only warns, and computes on one device."""

    def __init__(self, torch_xla, version, spmd):
        self.torch_xla, self.core = torch_xla, torch_xla._XLAC
        self.version, self.spmd, self.said = version, spmd, os.environ.get("PJRT_DEVICE", "")
        if spmd and not self.core._xla_get_spmd_config_is_locked():
            torch_xla.runtime.use_spmd()
        self.device = torch_xla.device()
        self.expect_mode()

    def expect_mode(self):
        """Under SPMD the first device is a virtual one, and stands for all. It is decided once, with the first device."""
        real = self.core._xla_real_devices([str(self.device)])[0]
        virtual, called = real.startswith(VIRTUAL), self.torch_xla.runtime.is_spmd()
        if virtual and not self.spmd:
            raise Failure("program", "the program called use_spmd(), and the rung is not one of SPMD: give it the argument spmd: true")
        if called and not virtual:
            raise Failure("program", f"use_spmd() was called too late: a device or tensor was made before, so tensors are on {real} "
                          "and not on all devices; torch_xla only warns. Call torch_xla.runtime.use_spmd() first")
        if self.spmd and not virtual:
            raise Failure("program", f"SPMD is missing: a device or tensor was made before use_spmd(), so tensors are on {real} "
                          "and not on all devices. Call torch_xla.runtime.use_spmd() first")

    def local(self):
        """Names of this process's devices, in the client's order."""
        return self.core._xla_get_runtime_devices()

    def all(self):
        return self.core._xla_get_all_runtime_devices()

    def platform(self):
        return self.local()[0].rpartition(":")[0].lower()

    def expect_variable(self):
        now = os.environ.get("PJRT_DEVICE", "")
        if now != self.said:
            raise Failure("launch", f"PJRT_DEVICE says {now or 'nothing'}, but the client and its devices are of "
                          f"{self.platform().upper()}: the variable was changed after the client was made")
        said, real = now.split("_")[0].upper(), self.platform().upper()
        if said in PLATFORMS and said != real:
            raise Failure("launch", f"PJRT_DEVICE says {said}, but the client and its devices are of {real}: the variable was "
                          "changed after the client was made")

    def kind(self):
        """Under SPMD torch_xla asks the virtual device only, which has no kind: the platform's name is all that is known."""
        return self.platform() if self.spmd else self.core._xla_device_kind(str(self.device))

    def attributes(self):
        """Ordinal to attributes, of all devices; on CPU there are none but the name."""
        return {ordinal(entry["name"]): entry for entry in self.core._xla_get_all_device_attributes()}

    def platform_version(self):
        """torch_xla has no call for the client's own. A runtime library is known by its file, a built-in one by its source."""
        path = mapped_library()
        if path:
            return f"{os.path.basename(path)}, PJRT API {api_version(path)}, {os.path.getsize(path)} bytes"
        return f"built into torch_xla {self.version} ({self.core._get_git_revs().get('xla', '')[:12]})"

    def describe(self, kernel_path="native"):
        runtime = self.torch_xla.runtime
        return dict(
            platform=self.platform(), platform_version=self.platform_version(), device_kind=self.kind(),
            devices=len(self.all()), local_devices=len(self.local()), process_count=runtime.process_count(),
            process_index=runtime.process_index(), kernel_path=kernel_path)


def ordinal(name):
    """3 of "TPU:3": the number of the device in the whole slice."""
    return int(name.rpartition(":")[2])


def mapped_library():
    """The libtpu that this process has loaded; "" where it has none."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    return min((path for path in paths if os.path.basename(path).startswith("libtpu") and os.path.exists(path)), default="")


class Api(ctypes.Structure):
    """The beginning of PJRT_Api, openxla/xla:xla/pjrt/c/pjrt_c_api.h."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("version_size", ctypes.c_size_t),
                ("version_extension", ctypes.c_void_p), ("major", ctypes.c_int), ("minor", ctypes.c_int)]


def api_version(path):
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.POINTER(Api)
    api = library.GetPjrtApi()
    return f"{api.contents.major}.{api.contents.minor}" if api else "unknown"
