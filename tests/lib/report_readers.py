"""What other programs read reports with, from PyPI by tests/pins/report.txt: junitparser.

Fetched once per build into a folder of its own there.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import lab

PINS = lab.TOP / "tests" / "pins" / "report.txt"
FOLDER = lab.BUILD / "envs" / "report-readers"


def _fetch():
    """Beside, then renamed: two tests may do it at once."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    made = tempfile.mkdtemp(prefix="report-readers-", dir=FOLDER.parent)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:",
                    "--disable-pip-version-check", "--root-user-action=ignore", "--target", made, "-r", PINS], check=True, timeout=300)
    try:
        os.rename(made, FOLDER)
    except OSError:
        if not FOLDER.exists():
            raise
        shutil.rmtree(made)


def load():
    """junitparser"""
    if not FOLDER.exists():
        _fetch()
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    import junitparser
    return junitparser
