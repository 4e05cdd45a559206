"""sliceup env lock: the exact versions and the sha256 of what pip would install here for a file of requirements.

usage: python3 -I lock_pins.py FILE [NEW_FILE]
pip asks its indexes and downloads what it needs to know; nothing is installed. Its words go to standard error."""
import json
import os
import subprocess
import sys
import tempfile

LIMIT_S = 30 * 60
# pip reports what it chose since 22.2 (pip.pypa.io/en/stable/reference/installation-report).
PIP = ["-I", "-m", "pip", "install", "--dry-run", "--ignore-installed", "--only-binary", ":all:", "--no-input",
       "--disable-pip-version-check", "--progress-bar", "off", "--retries", "3", "--timeout", "30"]
KEPT = ("--index-url", "-i ", "--extra-index-url", "--find-links", "-f ", "--pre", "--no-index")


def say(text):
    """A terminal obeys what is not printable, so it is written out."""
    print("".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text)), file=sys.stderr)


def fail(status, text):
    say(f"sliceup env lock: {text}")
    sys.exit(status)


def ask_pip(path):
    with tempfile.TemporaryDirectory(prefix="sliceup-lock-") as folder:
        report = os.path.join(folder, "report.json")
        command = [sys.executable, *PIP, "--src", folder, "--report", report, "-r", path]
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=LIMIT_S).returncode
        except subprocess.TimeoutExpired:
            fail(3, f"pip took longer than {LIMIT_S // 60} minutes")
        if status:
            fail(3, f"pip of {sys.executable} ended with status {status}, its reason stands above; expected pip 22.2 or "
                    f"newer (with --python: of another Python), and wheels of all that {path} names")
        with open(report, encoding="utf-8") as file:
            return json.load(file)


def pin_of(item):
    """None: no file with a hash, such as a folder or a repository."""
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    digest = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
    return name, digest and f"{name}=={version} --hash=sha256:{digest}"


def main():
    path, out = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if not os.path.isfile(path):
        fail(2, f"{path} is not a file of requirements")
    if out and os.path.lexists(out):
        fail(2, f"{out} exists already; it is not replaced")
    report = ask_pip(path)
    pins = sorted(pin_of(item) for item in report["install"])
    without = [name for name, line in pins if not line]
    if without:
        fail(3, f"no hash for {', '.join(without)}: what comes from a folder or a repository has none; take its line out of "
                f"{path}, or build a wheel of it and name the wheel's folder there, by --find-links FOLDER")
    where = report["environment"]
    with open(path, encoding="utf-8-sig") as file:
        options = [line.strip() for line in file if line.strip().startswith(KEPT)]
    text = "\n".join([f"# Written by sliceup env lock from {os.path.basename(path)}, for Python {where['python_version']} on "
                      f"{where['sys_platform']} {where['platform_machine']}:",
                      "# hosts of another Python or machine need a file of their own.",
                      *options, *(line for _, line in pins)]) + "\n"
    if not out:
        sys.stdout.write(text)
        return
    with open(out, "x", encoding="utf-8") as file:
        file.write(text)
    say(f"{len(pins)} packages are pinned in {out}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        fail(3, error)
