"""plugins.py - PJRT plugins for tests: real ones from a package index, once a checkout, and the one that lies."""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import lab

LIAR = lab.BUILD / "tests" / "liar.so"
PINS = lab.TOP / "tests" / "pins" / "pjrt.txt"
CPU = {"xla-cpu-pjrt": "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
       "lammps-jax-pjrt-cpu": "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"}
INSTALL_S = 600


def unpack(pins, folder):
    """The wheels of a pin file, unpacked below `folder`: a plugin is a file, nothing has to be installed for it."""
    wheels = folder / "wheels"
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:",
                    "--quiet", "--disable-pip-version-check", "--dest", str(wheels), "-r", str(pins)],
                   check=True, timeout=INSTALL_S)
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
    shutil.rmtree(wheels)


def real(pins=PINS):
    """The folder with the plugins of a pin file; made when it is not there, by one process at a time."""
    name = hashlib.sha256(pins.read_bytes()).hexdigest()[:16]
    folder = lab.SHARED_ENVS / f"pjrt-{name}"
    lab.SHARED_ENVS.mkdir(parents=True, exist_ok=True)
    with open(lab.SHARED_ENVS / f"pjrt-{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            building = pathlib.Path(f"{folder}.{os.getpid()}")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir()
            unpack(pins, building)
            building.rename(folder)
    return folder
