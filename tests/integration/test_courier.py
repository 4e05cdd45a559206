"""The courier against real ssh servers: who is let in, what travels, and how each refusal is one clear sentence."""
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import hostile_ssh
import lab
import sshd

COURIER = lab.BUILD / "bin" / "sliceup-courier"
WORKER = lab.BUILD / "bin" / "sliceup-worker"
KEY = "0123456789abcdefghijABCDEFGHIJ.-:+=^!/*?"
BOUND_S = 60

# What a bundle may hold: the worker of this build, and what a host may refuse it for. All of it is the head.
START = """#!/bin/sh
{join}
exit
"""


JOIN = f'exec {WORKER} "$@"'


# What cannot become a worker becomes what stands behind --else, whose last two words are a status and a sentence then
# (worker/process/self.h).
ELSE = "shift 2; exec " + " ".join(f'"${{{{{n}}}}}"' for n in range(1, 13)) + ' {} "{}"'


def make_bundle(path, join=JOIN, padding=0):
    """A bundle whose worker is the one of this build, so many bytes longer."""
    text = START.format(join=join).encode()
    path.write_bytes(gzip.compress(text + os.urandom(padding), compresslevel=1, mtime=0))
    return path


class Courier:
    """One courier process, told its two lines; what it says comes as decoded lines."""

    def __init__(self, order, launch, env=None, argv=None):
        self.began = time.monotonic()
        self.process = subprocess.Popen(argv or [str(COURIER), "carry"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.heard, self.errors, self.rest = [], b"", b""
        self.worker_pid = None
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.selector.register(self.process.stderr, selectors.EVENT_READ)
        self.say(json.dumps(order) + "\n" + json.dumps(launch) + "\n")

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def hang_up(self):
        self.process.stdin.close()

    def _read(self, bound_s):
        for key, _ in self.selector.select(bound_s):
            taken = os.read(key.fileobj.fileno(), 65536)
            if not taken:
                self.selector.unregister(key.fileobj)
            elif key.fileobj is self.process.stderr:
                self.errors += taken
            else:
                *lines, self.rest = (self.rest + taken).split(b"\n")
                self.heard += [json.loads(line) for line in lines]
                for line in self.heard:
                    self.worker_pid = line.get("pid", self.worker_pid)

    def wait_for(self, word, bound_s=BOUND_S):
        """The first line that has the word; AssertionError when the courier ends or the time is up before."""
        until = time.monotonic() + bound_s
        while True:
            found = [line for line in self.heard if word in line]
            if found:
                return found[0]
            if time.monotonic() > until or not self.selector.get_map():
                raise AssertionError(f"never said {word!r}: {self.heard}\n{self.errors.decode(errors='replace')}")
            self._read(1)

    def end(self, bound_s=BOUND_S):
        """Its exit status, when all that it said was read."""
        until = time.monotonic() + bound_s
        while self.selector.get_map():
            if time.monotonic() > until:
                raise AssertionError(f"does not end: {self.heard}\n{self.errors.decode(errors='replace')}")
            self._read(1)
        status = self.process.wait(10)
        self.took_s = time.monotonic() - self.began
        if status not in (0, 1, 2) or lab.REPORT.search(self.errors.decode(errors="replace")):
            raise AssertionError(f"status {status}: {self.errors.decode(errors='replace')}")
        return status

    def steps(self):
        return [line["step"] for line in self.heard if "step" in line]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.selector.close()
        if self.worker_pid and lab.alive(self.worker_pid):
            os.kill(self.worker_pid, signal.SIGKILL)


# A host's login that runs the command after something else: {} is that.
FORCED = 'ForceCommand {}; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
IS_ROOT = os.geteuid() == 0


@contextlib.contextmanager
def lab_socket(path):
    """A socket at which somebody listens and never answers."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(4)
        yield str(path)


@unittest.skipIf(sshd.why_not(), sshd.why_not())
class Carrying(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-courier-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.bundle = make_bundle(self.root / "test.bundle")
        self.directory = self.root / "host"
        self.began = time.monotonic()
        self.addCleanup(lambda: print(f"[{time.monotonic() - self.began:5.1f} s] {self._testMethodName}", flush=True))

    def server(self, name="sshd", **options):
        server = sshd.Server(self.root / name, **options).start()
        self.addCleanup(server.stop)
        return server

    def tools(self, **scripts):
        """A folder of programs that a host finds before its own."""
        folder = self.root / "tools"
        folder.mkdir(exist_ok=True)
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)
        return f"SetEnv PATH={folder}:/usr/local/bin:/usr/bin:/bin"

    def place(self):
        return self.directory / "bundles" / self.bundles()[0]

    def bundles(self):
        return sorted(path.name for path in (self.directory / "bundles").iterdir())

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG") or k.endswith("SAN_OPTIONS")}
        return {**lab.SANITIZERS, **env, **more}

    def order(self, server, known_hosts=None, deadline_ms=45000, tied=False, **ssh):
        content = self.bundle.read_bytes()
        head = gzip.decompress(content)
        way = {"address": "127.0.0.1", "port": server.port, "user": server.user, "jump": "", "host_key_alias": "", "agent": False,
               "known_hosts": str(known_hosts or server.known_hosts()), "identities": [str(server.user_key)]}
        return {"sliceup-courier": 1, "by": "ssh", "host": "h0", "nonce": secrets.token_hex(16), "deadline_ms": deadline_ms,
                "tied": tied, "directory": str(self.directory), "bundle": str(self.bundle),
                "bundle_sha256": hashlib.sha256(head).hexdigest(), "bundle_head_bytes": len(head), "bundle_bytes": len(content), "ssh": {**way, **ssh}}

    def launch(self, address="127.0.0.1", **more):
        return {"protocol": 1, "run": "0123456789abcdef0123456789abcdef", "host": "h0", "rank": 0, "address": address,
                "control_port": 9, "bulk_port": 9, "key": KEY,
                "directory": str(self.root / f"run-{secrets.token_hex(4)}"), **more}

    def send(self, order, launch=None, argv=None, **env):
        courier = Courier(order, launch or self.launch(), env=self.env(**env), argv=argv)
        self.addCleanup(courier.close)
        return courier

    def refused(self, order, step, *words, launch=None, **env):
        """One refusal, in that step, with all these words; and nothing after it."""
        courier = self.send(order, launch, **env)
        self.assertEqual(1, courier.end(), courier.heard)
        last = courier.heard[-1]
        self.assertEqual(step, last.get("refused"), courier.heard)
        for word in words:
            self.assertIn(word, last["why"])
        self.assertEqual(1, len([line for line in courier.heard if "refused" in line]))
        self.assertLess(len(last["why"]), 1024)
        courier.why = last["why"]
        return courier

    def carried(self, order, launch=None, **env):
        """To the end: the worker answers, GO, and the courier leaves it standing."""
        courier = self.send(order, launch, **env)
        answer = courier.wait_for("sliceup-worker")
        courier.say("GO\n")
        self.assertEqual(0, courier.end(), courier.heard)
        self.assertEqual({"sliceup-courier": 1, "left": True}, courier.heard[-1], courier.errors)
        self.assertTrue(lab.alive(answer["pid"]))
        return courier


class Arriving(Carrying):
    def test_a_known_key_is_let_in_and_the_worker_outlives_the_courier(self):
        courier = self.carried(self.order(self.server()))
        self.assertEqual(["resolve", "connect", "host-key", "authentication", "shell", "upload", "start", "join"], courier.steps())

    def test_the_bundle_travels_once(self):
        server = self.server()
        self.carried(self.order(server))
        place = self.place()
        before = place.stat()
        order = self.order(server)
        self.bundle.unlink()                # it is not even looked at
        self.carried(order)
        self.assertEqual(before.st_ino, place.stat().st_ino)
        self.assertEqual(1, len(self.bundles()))
        self.assertEqual(0o700, self.directory.stat().st_mode & 0o777)
        self.assertEqual((os.geteuid(), 0o700), (before.st_uid, before.st_mode & 0o777))

    def test_couriers_at_once_bring_one_bundle(self):
        server = self.server()
        self.bundle = make_bundle(self.root / "large.bundle", padding=4 << 20)
        couriers = [self.send(self.order(server)) for _ in range(4)]
        for courier in couriers:
            courier.wait_for("sliceup-worker")
        for courier in couriers:
            courier.say("GO\n")
            self.assertEqual(0, courier.end())
        self.assertEqual(1, len(self.bundles()), self.bundles())

    def test_noise_before_the_bootstrap_is_passed_over(self):
        banner = self.root / "banner"
        banner.write_text("Authorised users only. sliceup-bootstrap 0123 refused upload no\n" * 20)
        noise = 'echo hello; echo "{\\"sliceup-worker\\":1}"; echo oops >&2; printf "prompt> "'
        courier = self.carried(self.order(self.server(config=[f"Banner {banner}", FORCED.format(noise)])))
        self.assertIn(b"oops", courier.errors)

    def test_the_address_is_that_of_the_connection(self):
        told = self.root / "told"
        join = f'read -r line; echo "$line" >{told}; {{ echo "$line"; cat; }} | {WORKER} join; exit'
        self.bundle = make_bundle(self.root / "telling.bundle", join=join)
        courier = self.send(self.order(self.server()), self.launch(address=""))
        courier.wait_for("sliceup-worker")
        self.assertEqual("127.0.0.1", json.loads(told.read_text())["address"])

    def test_what_lies_in_the_bundles_place_is_not_run_when_it_is_another(self):
        server = self.server()
        order = self.order(server)
        self.carried(order)
        place = self.place()
        good = place.read_bytes()
        for changed in (b"", good.replace(b"\nexit\n", b"\nexit 7\n"), b"#!/bin/sh\ntouch " + bytes(self.root / "evil") + b"\n" + good):
            with self.subTest(changed=len(changed)):
                place.write_bytes(changed)
                courier = self.carried(self.order(server))
                self.assertIn("did not match its sha256", courier.wait_for("found")["found"])
                self.assertEqual((good, [place.name]), (place.read_bytes(), self.bundles()))
        self.assertFalse((self.root / "evil").exists())

    def test_what_uploads_left_is_removed_a_day_later_and_no_sooner(self):
        bundles = self.directory / "bundles"
        for folder in (self.directory, bundles, bundles / ".new-old", bundles / ".new-young"):
            folder.mkdir(mode=0o700)
        (bundles / ".new-old.part").write_text("half")
        (bundles / ".new-young.part").write_text("half")
        long_ago = time.time() - 49 * 3600
        for name in (".new-old", ".new-old.part"):
            os.utime(bundles / name, (long_ago, long_ago))
        self.carried(self.order(self.server()))
        self.assertEqual([".new-young", ".new-young.part"], self.bundles()[:2])
        self.assertEqual(3, len(self.bundles()), self.bundles())

    @unittest.skipUnless(shutil.which("busybox"), "needs busybox")
    def test_a_host_with_nothing_but_busybox_will_do(self):
        path = self.tools()
        for name in "chmod find gzip head id ls mkdir mv rm sha256sum uname".split():
            (self.root / "tools" / name).symlink_to(shutil.which("busybox"))
        self.bundle = make_bundle(self.root / "large.bundle", padding=1 << 20)
        self.carried(self.order(self.server(config=[path])))


class HostKeys(Carrying):
    """Only a key that is known reaches authentication."""

    def stopped(self, order, server, *words, **env):
        courier = self.refused(order, "host-key", *words, **env)
        self.assertNotIn("authentication", courier.steps())
        self.assertNotIn("userauth-request", server.said())
        self.assertNotIn("Accepted publickey", server.said())
        return courier

    def known(self, text):
        path = self.root / "known"
        path.write_text(text)
        return path

    def test_an_unknown_host_is_stopped(self):
        server = self.server()
        courier = self.stopped(self.order(server, self.known("# nobody\n")), server, "has no key of this host", "add it")
        fingerprint = sshd.fingerprint(server.host_keys["ed25519"])
        self.assertNotIn(fingerprint, courier.why, "hosts that are all unknown are told in one sentence")
        self.assertIn(f"it presented the ssh-ed25519 host key {fingerprint}", courier.wait_for("found")["found"])

    def test_what_is_no_file_of_keys_is_not_read(self):
        server = self.server()
        os.mkfifo(self.root / "pipe")
        for path, words in ((self.root / "pipe", "not a regular file"), ("/dev/zero", "not a regular file"),
                            (self.root / "absent", "cannot read the file")):
            courier = self.stopped(self.order(server, path), server, words)
            self.assertLess(courier.process.wait(30), 99)

    def test_a_changed_key_is_stopped_and_both_are_named(self):
        server = self.server()
        other = sshd.make_key(self.root / "other")
        self.stopped(self.order(server, self.known(server.known_hosts_line(key=other))), server, "has changed: the host presented ssh-ed25519 SHA256:",
                     sshd.fingerprint(server.host_keys["ed25519"]), sshd.fingerprint(other))

    def test_a_key_of_another_type_is_stopped(self):
        server = self.server()
        other = sshd.make_key(self.root / "other", "ecdsa")
        self.stopped(self.order(server, self.known(server.known_hosts_line(key=other))), server,
                     "another type, ssh-ed25519 ", "ecdsa-sha2-nistp256",
                     sshd.fingerprint(server.host_keys["ed25519"]), sshd.fingerprint(other))

    def test_the_type_that_is_known_is_asked_for(self):
        server = self.server(host_keys=("ed25519", "ecdsa"))
        self.carried(self.order(server, self.known(server.known_hosts_line("ecdsa"))))

    def test_a_known_rsa_key_is_taken_but_not_with_sha1(self):
        server = self.server(host_keys=("rsa",))
        self.carried(self.order(server))
        old = self.server("old", host_keys={"rsa": server.host_keys["rsa"]}, config=["HostKeyAlgorithms ssh-rsa"])
        self.refused(self.order(old, self.known(old.known_hosts_line("rsa"))), "connect", "key exchange")

    def test_with_an_alias_the_key_is_looked_up_under_it_alone(self):
        server, other = self.server(), sshd.make_key(self.root / "other")
        alias = "tpu.7519457668826798549-0-f+7/Co"
        line, changed = server.known_hosts_line(alias=alias), server.known_hosts_line(key=other, alias=alias)

        def stopped(known, *words, host_key_alias=alias):
            self.stopped(self.order(server, self.known(known), host_key_alias=host_key_alias), server, "host_key_alias", *words)

        stopped(server.known_hosts_line(), "has no key")
        stopped(line, "has no key", host_key_alias=alias[:-7])
        stopped(f"{line}@revoked {line}", "revoked")
        stopped(f"*,!{line}", "has no key")
        stopped(server.known_hosts_line() + changed, "has changed", sshd.fingerprint(other))
        for good in (alias, "under_score.1", "fd00::7"):
            self.carried(self.order(server, self.known(changed.replace(alias, "other") + line.replace(alias, good)), host_key_alias=good))

    def test_the_type_that_is_known_under_the_alias_is_asked_for(self):
        server = self.server(host_keys=("ed25519", "ecdsa"))
        self.carried(self.order(server, self.known(server.known_hosts_line("ecdsa", alias="tpu.75-0")), host_key_alias="TPU.75-0"))

    def test_a_hashed_name_is_found(self):
        server = self.server()
        known = server.known_hosts()
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True, timeout=20)
        self.assertTrue(known.read_text().startswith("|1|"))
        self.carried(self.order(server, known))

    def test_a_revoked_key_is_stopped_though_it_is_known(self):
        server = self.server()
        words = server.known_hosts_line().split()
        self.stopped(self.order(server, self.known(f"{server.known_hosts_line()}@revoked * {words[1]} {words[2]}\n")), server,
                     "marks as revoked")

    def test_a_negated_pattern_does_not_name_the_host(self):
        server = self.server()
        _, kind, key = server.known_hosts_line().split()
        self.stopped(self.order(server, self.known(f"*,![127.0.0.1]:{server.port} {kind} {key}\n")), server, "has no key of this host")

    def test_no_file_of_known_hosts_is_no_known_host(self):
        server = self.server()
        self.stopped(self.order(server, self.root / "missing"), server, str(self.root / "missing"), "No such file")

    @unittest.skipUnless(IS_ROOT, "needs root, to lay another home over root's")
    def test_the_users_own_configuration_has_no_effect(self):
        server = self.server()
        home, mark = self.root / "home", self.root / "mark"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "config").write_text(
            f'Match exec "touch {mark}"\n  StrictHostKeyChecking no\nHost *\n  StrictHostKeyChecking no\n'
            f"  UserKnownHostsFile {server.known_hosts()}\n  Port 1\n  ProxyCommand touch {mark}\n")
        (home / ".ssh" / "known_hosts").write_text(server.known_hosts_line())
        inside = self.root / "inside"
        inside.write_text(f"#!/bin/sh\nmount --bind {home} $(getent passwd 0 | cut -d: -f6) && exec {COURIER} carry\n")
        inside.chmod(0o755)
        order = self.order(server, self.known("# nobody\n"))
        courier = self.send(order, argv=["unshare", "--mount", str(inside)])
        self.assertEqual(1, courier.end())
        self.assertEqual("host-key", courier.heard[-1].get("refused"), courier.heard)
        self.assertFalse(mark.exists(), "a command of the configuration ran")


class Identities(Carrying):
    def test_a_key_that_is_not_authorised_is_refused(self):
        server = self.server(authorized=[])
        self.refused(self.order(server), "authentication", f"user {server.user}", str(server.user_key), "(not accepted)", "publickey",
                     "authorized_keys")

    def test_a_user_that_does_not_exist_is_refused(self):
        server = self.server()
        self.refused(self.order(server, user="nobody-of-that-name"), "authentication", "nobody-of-that-name", "(not accepted)")

    def test_the_second_key_may_be_the_right_one(self):
        server = self.server()
        wrong = sshd.make_key(self.root / "wrong", "ecdsa")
        self.carried(self.order(server, identities=[str(self.root / "missing"), str(wrong), str(server.user_key)]))

    def test_every_kind_of_key_is_taken(self):
        keys = [sshd.make_key(self.root / kind, kind) for kind in ("ed25519", "ecdsa", "rsa")]
        server = self.server(authorized=[f"{key}.pub" for key in keys])
        for key in keys:
            with self.subTest(key.name):
                self.carried(self.order(server, identities=[str(key)]))

    def test_an_agent_is_asked_when_configured(self):
        server = self.server()
        key = sshd.make_key(self.root / "held", passphrase="")
        server.authorize(f"{key}.pub")
        with sshd.Agent(self.root, key) as agent:
            self.carried(self.order(server, agent=True, identities=[]), SSH_AUTH_SOCK=str(agent.socket))
            self.refused(self.order(server, agent=False, identities=[]), "authentication", SSH_AUTH_SOCK=str(agent.socket))

    def test_an_agent_with_more_keys_than_the_server_tries_is_said_at_once(self):
        server = self.server(config=["MaxAuthTries 6"])
        keys = [sshd.make_key(self.root / f"junk{number}") for number in range(7)]
        with sshd.Agent(self.root, *keys) as agent:
            courier = self.refused(self.order(server, agent=True), "authentication",
                                   "the server ended the connection: too many authentication failures; 7 keys of the agent were offered",
                                   f"`ssh: {{agent: false}}`, after which {server.user_key} is tried", "ssh-add -D",
                                   SSH_AUTH_SOCK=str(agent.socket))
            self.assertLess(courier.took_s, 5)
            self.carried(self.order(server, agent=True, identities_only=True), SSH_AUTH_SOCK=str(agent.socket))

    def test_of_an_agent_only_named_keys_are_offered_when_asked_for(self):
        junk, held = [sshd.make_key(self.root / f"junk{number}") for number in range(7)], sshd.make_key(self.root / "held", "rsa")
        server = self.server(authorized=[f"{held}.pub"])
        locked = sshd.make_key(self.root / "locked", passphrase="secret words")
        with sshd.Agent(self.root, *junk, held) as agent:
            held.unlink()                   # its public half lies beside it
            self.carried(self.order(server, agent=True, identities_only=True, identities=[str(held)]), SSH_AUTH_SOCK=str(agent.socket))
            self.refused(self.order(server, agent=True, identities_only=True, identities=[str(locked)]), "authentication",
                         "agent without a key", "has a passphrase", SSH_AUTH_SOCK=str(agent.socket))
        self.assertNotIn("Failed publickey", server.said(), "no other key was offered")

    def test_of_an_agent_named_keys_are_offered_before_others(self):
        junk, held = [sshd.make_key(self.root / f"junk{number}") for number in range(5)], [sshd.make_key(self.root / f"held{n}") for n in range(2)]
        server = self.server(config=["MaxAuthTries 3"], authorized=[f"{held[1]}.pub"])
        with sshd.Agent(self.root, *junk, *held) as agent:
            for key in held:
                key.unlink()
            self.carried(self.order(server, agent=True, identities=[str(key) for key in reversed(held)]), SSH_AUTH_SOCK=str(agent.socket))
            self.refused(self.order(server, agent=True, identities=[]), "authentication", "7 keys of the agent were offered", SSH_AUTH_SOCK=str(agent.socket))

    def test_an_agent_that_is_not_there_is_said(self):
        server = self.server()
        self.refused(self.order(server, agent=True, identities=[]), "authentication", "SSH_AUTH_SOCK is not set")

    def test_an_agent_that_never_answers_ends_at_the_deadline(self):
        server = self.server()
        with lab_socket(self.root / "mute") as mute:
            self.refused(self.order(server, agent=True, identities=[], deadline_ms=3000), "authentication", "deadline of 3 s",
                         SSH_AUTH_SOCK=mute)

    def test_a_key_with_a_passphrase_is_said(self):
        key = sshd.make_key(self.root / "locked", passphrase="secret words")
        server = self.server(authorized=[f"{key}.pub"])
        self.refused(self.order(server, identities=[str(key)]), "authentication", str(key), "has a passphrase", "ssh-add")

    def test_a_key_that_others_may_read_is_not_used(self):
        server = self.server()
        server.user_key.chmod(0o644)
        self.refused(self.order(server), "authentication", "other users may read it", "chmod 600")

    def test_what_is_no_key_is_said(self):
        wrong = self.root / "wrong"
        wrong.write_text("not a key\n")
        wrong.chmod(0o600)
        self.refused(self.order(self.server(), identities=[str(wrong)]), "authentication", "not a private key")


PAM = "auth required pam_unix.so\naccount required pam_permit.so\nsession required pam_permit.so\n"


@unittest.skipUnless(IS_ROOT, "needs root, to lay another /etc/shadow over root's")
class Passwords(Carrying):
    def server(self, *config, **options):
        return super().server(**sshd.with_password(self.root, *config, **{key: options.pop(key) for key in ("pam", "changed") if key in options}), **options)

    def send(self, order, launch=None, argv=None, **env):
        courier = super().send(order, launch, argv, **env)
        courier.say(f"{self.password}\n" if order["ssh"].get("password") else "")
        return courier

    def setUp(self):
        super().setUp()
        self.password = sshd.PASSWORD

    def order(self, server, *words, **ssh):
        return super().order(server, *words, **{"password": True, "identities": [], **ssh})

    def tries(self, server):
        return server.said().count("Failed password") + server.said().count("Failed keyboard-interactive")

    def test_a_password_lets_in_where_no_key_does(self):
        server = self.server()
        self.carried(self.order(server, identities=[str(sshd.make_key(self.root / "wrong"))]))
        self.assertIn("Accepted password", server.said())
        self.assertEqual(0, self.tries(server))

    def test_a_key_goes_before_the_password(self):
        server = self.server()
        self.carried(self.order(server, identities=[str(server.user_key)]))
        self.assertNotIn("password", server.said())

    def test_a_second_method_after_the_key(self):
        server = self.server("AuthenticationMethods publickey,password")
        self.carried(self.order(server, identities=[str(server.user_key)]))

    def test_the_one_hidden_question_of_the_keyboard_is_answered(self):
        server = self.server(pam=PAM)
        self.carried(self.order(server))
        self.assertIn("Accepted keyboard-interactive/pam", server.said())

    def test_a_wrong_password_is_tried_once_and_told(self):
        for pam, method in (("", "password"), (PAM.replace("unix.so", "unix.so nodelay"), "keyboard-interactive")):
            server = self.server(name=f"sshd-{method}", pam=pam)
            self.password = "wrong horse"
            courier = self.refused(self.order(server), "authentication", f"the password was not accepted for user {server.user}",
                                   f"The methods that it allows: publickey,{method}.", "tried once")
            self.assertLess(courier.took_s, 5)
            self.assertNotIn("wrong horse", courier.why)
            self.assertEqual(1, self.tries(server), server.said())

    def test_another_question_gets_no_password(self):
        expired = PAM.replace("account required pam_permit.so", "account required pam_unix.so") + "password required pam_unix.so\n"
        server = self.server(pam=expired, changed=0)    # asks for a new one as well
        self.refused(self.order(server), "authentication", "accepted no key", "password (the server asks for something else as well)")

    def test_a_jump_host_gets_it_as_well(self):
        server, bastion = self.server(), self.server(name="bastion")
        known = self.root / "known"
        known.write_text(bastion.known_hosts_line() + server.known_hosts_line())
        self.carried(self.order(server, known, jump=f"root@127.0.0.1:{bastion.port}"))
        self.assertIn("Accepted password", bastion.said())

    def test_an_unknown_host_gets_no_password(self):
        server = self.server()
        self.refused(self.order(server, self.root / "missing"), "host-key", "No such file")
        self.assertNotIn("password", server.said())

    def test_without_one_the_option_is_named(self):
        server = self.server()
        self.refused(self.order(server, password=False), "authentication", "publickey,password", "--ask-pass asks you for the password")

    def test_it_is_the_passphrase_of_a_key(self):
        key = sshd.make_key(self.root / "locked", passphrase=sshd.PASSWORD)
        server = self.server("PasswordAuthentication no", authorized=[f"{key}.pub"])
        self.carried(self.order(server, identities=[str(key)]))
        self.password = "wrong horse"
        self.refused(self.order(server, identities=[str(key)]), "authentication", "has another passphrase than the given password")

    def test_no_list_of_processes_and_no_image_has_it(self):
        """While it waits, as another user than root: proc(5) gives the files of a process without an image to root."""
        self.root.chmod(0o755)
        known = self.root / "known"
        known.write_text("")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            order = self.order(self.server(), known, port=silent.getsockname()[1])
            courier = self.send(order, argv=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(COURIER), "carry"])
            courier.wait_for("step")
            proc = pathlib.Path(f"/proc/{courier.process.pid}")
            self.assertNotIn(sshd.PASSWORD.encode(), (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes())
            self.assertEqual(0, (proc / "environ").stat().st_uid)
            courier.hang_up()


class Strangers(Carrying):
    """Others on the host who connect to a carried port."""
    def coordinator(self):
        """Greets everybody with as much as ZMTP does, and says more to who knows the word. Its port."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.addCleanup(listener.close)

        def serve(link):
            with link, contextlib.suppress(OSError):
                link.sendall(b"." * 64)
                while piece := link.recv(100):
                    link.sendall(piece * 10 if piece == b"hello" else b"")

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]

    def talks(self, link):
        link.sendall(b"hello")
        with link.makefile("rb", buffering=0) as heard:
            said = b""
            while len(said) < 50 and (piece := heard.read(50 - len(said))):
                said += piece
        return said == b"hello" * 10

    def connect(self, port):
        link = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.addCleanup(link.close)
        self.assertEqual(b"." * 64, link.recv(64, socket.MSG_WAITALL))
        return link

    def test_they_keep_no_place_that_a_worker_needs(self):
        folder, port = self.root / "run", self.coordinator()
        folder.mkdir(mode=0o700)
        order = {**self.order(self.server()), "again": True, "reach": "ssh", "hub": "127.0.0.1"}
        courier = self.send(order, self.launch(directory=str(folder), control_port=port, bulk_port=port))
        courier.wait_for("carries")
        there = int((folder / "way").read_text().split()[0])
        first = self.connect(there)
        self.assertTrue(self.talks(first))
        for _ in range(40):
            self.connect(there)
        self.assertTrue(self.talks(self.connect(there)))
        self.assertTrue(self.talks(first))
        courier.hang_up()


@unittest.skipUnless(IS_ROOT and shutil.which("sudo"), "needs root, to make users, and sudo")
class AsRoot(Carrying):
    """A login user who may use sudo; all that is done on the host is root's."""
    password = None

    def server(self, *config, defaults="", **options):
        server = super().server(**sshd.with_sudo(self.root, *config, defaults=defaults), **options)
        server.folder.chmod(0o755)
        return server

    def order(self, server, user="boss", **ssh):
        return super().order(server, **{"user": user, "sudo": True, "password": self.password is not None, **ssh})

    def send(self, order, launch=None, argv=None, **env):
        courier = super().send(order, launch, argv, **env)
        courier.say(f"{self.password}\n" if self.password else "")
        return courier

    def of_root(self, courier):
        pid = courier.wait_for("sliceup-worker")["pid"]
        self.assertEqual(0, os.stat(f"/proc/{pid}").st_uid)
        self.assertEqual({0}, {path.stat().st_uid for path in [self.directory, *self.directory.rglob("*")]})
        return pathlib.Path(f"/proc/{pid}")

    def test_the_worker_is_root_s_and_outlives_the_courier(self):
        courier = self.carried(self.order(self.server()))
        self.of_root(courier)
        self.assertIn("authentication", courier.steps())

    def test_a_password_goes_to_sudo_when_it_asks_and_nowhere_else(self):
        self.password = sshd.PASSWORD
        for user in ("clerk", "boss"):      # the latter is not asked
            courier = self.carried(self.order(self.server(name=user), user))
            proc = self.of_root(courier)
            self.assertNotIn(sshd.PASSWORD.encode(), (proc / "environ").read_bytes() + courier.errors)
        kept = [path for path in self.root.rglob("*") if path.is_file() and sshd.PASSWORD.encode() in path.read_bytes()]
        self.assertEqual([], kept)

    def test_what_sudo_says_comes_first(self):
        server = self.server()
        for user in ("clerk", "guest"):
            courier = self.refused(self.order(server, user), "authentication", "; --ask-pass asks you for one")
            self.assertTrue(courier.why.startswith("sudo: a password is required; "), courier.why)
            self.assertLess(courier.took_s, 5)
        self.assertFalse(self.directory.exists())

    def test_a_wrong_password_is_tried_once(self):
        self.password = "wrong horse"
        courier = self.refused(self.order(self.server(), "clerk"), "authentication", "sudo did not accept the password, which was tried once")
        self.assertTrue(courier.why.startswith("Sorry, try again.; "), courier.why)
        self.assertLess(courier.took_s, 10)
        courier = self.refused(self.order(self.server(name="once", defaults=", passwd_tries=1"), "clerk"), "authentication", "was tried once")
        self.assertTrue(courier.why.startswith("sudo: 1 incorrect password attempt; "), courier.why)

    def test_who_may_not_is_told_by_sudo(self):
        self.password = sshd.PASSWORD
        courier = self.refused(self.order(self.server(), "guest"), "authentication", "sudo must let this user run /bin/sh")
        self.assertTrue(courier.why.startswith("guest is not in the sudoers file."), courier.why)

    def test_a_host_that_insists_on_a_terminal_or_has_no_sudo(self):
        courier = self.refused(self.order(self.server(defaults=", requiretty")), "authentication", "without a terminal")
        self.assertIn("you must have a tty to run sudo; ", courier.why)
        courier = self.refused(self.order(self.server("SetEnv PATH=/nonexistent", name="bare")), "authentication", "install sudo there")
        self.assertRegex(courier.why, "^[^;]*sudo: not found; ")

    def test_a_folder_of_the_login_user_is_refused(self):
        server = self.server()
        self.directory.mkdir(mode=0o700)
        os.chown(self.directory, 64001, 65534)
        self.refused(self.order(server), "upload", f"{self.directory} is not a directory of uid 0 that nobody else may write to")

    def test_a_courier_that_carries_again_writes_for_root(self):
        self.password = sshd.PASSWORD
        folder = self.root / "run"
        folder.mkdir(mode=0o700)
        order = {**self.order(self.server(), "clerk"), "again": True, "reach": "ssh", "hub": "127.0.0.1"}
        courier = self.send(order, self.launch(directory=str(folder)))
        courier.wait_for("carries")
        self.assertEqual((0, 2), ((folder / "way").stat().st_uid, len((folder / "way").read_text().split())))
        courier.hang_up()
        self.assertEqual(0, courier.end())


# A command of the form of gcloud's tunnel: the connection is its standard input and output.
TUNNEL = """import os, select, socket, sys
words = sys.argv[1:]
if words[:2] != ["compute", "start-iap-tunnel"] or "--listen-on-stdin" not in words:
    sys.exit("ERROR: (gcloud) Invalid choice")
if os.environ.get("CLOUDSDK_CORE_PROJECT") != "proj":
    sys.exit("ERROR: (gcloud.compute.start-iap-tunnel) The required property [project] is not currently set.")
link = socket.create_connection((words[2], int(words[3])))
while True:
    for end in select.select([0, link], [], [])[0]:
        piece = os.read(0, 65536) if end == 0 else link.recv(65536)
        if not piece:
            sys.exit(0)
        link.sendall(piece) if end == 0 else sys.stdout.buffer.write(piece)
        sys.stdout.flush()
"""


class Commanding(Carrying):
    """A connection by the user's ProxyCommand."""

    def tunnel(self, server, *more):
        (self.root / "tunnel.py").write_text(TUNNEL)
        return f"python3 {self.root / 'tunnel.py'} compute start-iap-tunnel 127.0.0.1 {server.port} {' '.join(more)} --zone='a b'"

    def test_a_tunnel_carries_worker_and_bundle(self):
        server = self.server()
        self.bundle = make_bundle(self.root / "large.bundle", padding=5 << 20)
        order = self.order(server, command=self.tunnel(server, "--listen-on-stdin"))
        order["ssh"]["address"] = "vm-0"    # the tunnel knows where that is
        known = self.root / "known"
        known.write_text(server.known_hosts_line(alias=f"[vm-0]:{server.port}"))
        order["ssh"]["known_hosts"] = str(known)
        courier = self.carried(order, CLOUDSDK_CORE_PROJECT="proj")
        self.assertEqual(["connect", "host-key"], courier.steps()[:2])
        courier = self.send({**order, "reach": "direct"}, self.launch(address=""))
        self.assertEqual(2, courier.end())
        self.assertIn("the address of this machine is unknown", courier.heard[-1]["why"])

    def test_the_users_own_ssh_is_such_a_command(self):
        bastion, server = self.server("bastion"), self.server()
        bastion.authorize(f"{server.user_key}.pub")
        self.carried(self.order(server, command=f"ssh -F none -i {server.user_key} -o UserKnownHostsFile={bastion.known_hosts()} -p {bastion.port} "
                                                f"-q -W 127.0.0.1:{server.port} 127.0.0.1"))
        self.assertIn("Accepted publickey", bastion.said())

    def test_host_keys_are_checked_behind_it(self):
        server = self.server()
        known = self.root / "known"
        known.write_text("# nobody\n")
        self.refused(self.order(server, known, command=self.tunnel(server, "--listen-on-stdin")), "host-key", "has no key of this host",
                     CLOUDSDK_CORE_PROJECT="proj")

    def test_how_it_failed_is_said_and_its_words_are_kept(self):
        server = self.server()
        for command, shell, said in (("sh -c 'echo no route >&2; exit 3'", "/bin/sh", "its ProxyCommand ended with 3 before"),
                                     ("kill -9 $$", "/bin/sh", "its ProxyCommand ended with signal 9"),
                                     ("no-such-program-of-mine", "", "its ProxyCommand ended with 127"),
                                     ("true", "/no/shell", "cannot start its ProxyCommand by /no/shell: No such file"),
                                     (self.tunnel(server, "--listen-on-stdin"), "/bin/bash", "its ProxyCommand ended with 1 ")):
            with self.subTest(command=command):
                courier = self.refused(self.order(server, command=command), "connect", said, SHELL=shell)
                self.assertLess(courier.took_s, 5)
                self.assertTrue(courier.errors or "signal" in said or shell == "/no/shell", "its words")

    def test_nothing_that_it_started_outlives_the_courier(self):
        server = self.server()
        for end in ("deadline", "coordinator"):
            with self.subTest(end):
                began = self.root / f"began.{end}"
                command = f"sh -c 'trap : HUP; sleep 1000 & echo $! >{began}.new; mv {began}.new {began}; sleep 1000; :'"
                order = self.order(server, command=command, deadline_ms=2000 if end == "deadline" else 60000)
                courier = self.send(order, argv=["setsid", str(COURIER), "carry"])
                lab.wait_for(began.exists, "the command", 20)
                if end == "coordinator":
                    courier.hang_up()
                self.assertEqual(1, courier.end())
                lab.wait_for(lambda: not lab.alive(int(began.read_text())), "the end of all that it started", 5)


class Jumping(Carrying):
    def test_a_jump_host_carries_worker_and_bundle(self):
        bastion, server = self.server("bastion"), self.server()
        server.authorize(f"{server.user_key}.pub")
        bastion.authorize(f"{server.user_key}.pub")
        known = self.root / "known"
        known.write_text(bastion.known_hosts_line() + server.known_hosts_line())
        self.bundle = make_bundle(self.root / "large.bundle", padding=5 << 20)
        self.carried(self.order(server, known, jump=f"{bastion.user}@127.0.0.1:{bastion.port}"))
        self.assertIn("Accepted publickey", bastion.said())
        self.assertIn("Accepted publickey", server.said())

    def test_much_noise_comes_through_a_jump_host_whole(self):
        bastion, server = self.server("bastion"), self.server(config=[FORCED.format("yes oops | head -c 60000 >&2")])
        bastion.authorize(f"{server.user_key}.pub")
        known = self.root / "known"
        known.write_text(bastion.known_hosts_line() + server.known_hosts_line())
        courier = self.carried(self.order(server, known, jump=f"127.0.0.1:{bastion.port}"))
        self.assertGreaterEqual(courier.errors.count(b"oops"), 12000)

    def test_the_jump_host_is_checked_like_any_other(self):
        bastion, server = self.server("bastion"), self.server()
        jump = f"127.0.0.1:{bastion.port}"
        courier = self.refused(self.order(server, jump=jump), "host-key", f"jump host {jump}")
        self.assertEqual(f"jump host {jump} presented the ssh-ed25519 host key {sshd.fingerprint(bastion.host_keys['ed25519'])}",
                         courier.wait_for("found")["found"])
        self.assertNotIn("Accepted publickey", bastion.said())

    def test_an_alias_is_the_hosts_and_not_the_jump_hosts(self):
        bastion, server = self.server("bastion"), self.server()
        bastion.authorize(f"{server.user_key}.pub")
        known, jump = self.root / "known", f"127.0.0.1:{bastion.port}"
        known.write_text(bastion.known_hosts_line() + server.known_hosts_line(alias="v6e-0"))
        self.carried(self.order(server, known, jump=jump, host_key_alias="v6e-0"))
        known.write_text(bastion.known_hosts_line(alias="v6e-0") + server.known_hosts_line(alias="v6e-0"))
        self.refused(self.order(server, known, jump=jump, host_key_alias="v6e-0"), "host-key", f"jump host {jump}")

    def test_the_host_behind_it_is_checked_as_well(self):
        bastion, server = self.server("bastion"), self.server()
        bastion.authorize(f"{server.user_key}.pub")
        courier = self.refused(self.order(server, bastion.known_hosts(), jump=f"127.0.0.1:{bastion.port}"), "host-key")
        self.assertEqual(f"it presented the ssh-ed25519 host key {sshd.fingerprint(server.host_keys['ed25519'])}",
                         courier.wait_for("found")["found"])
        self.assertNotIn("jump host", courier.why)
        self.assertNotIn("Accepted publickey", server.said())

    def test_a_jump_host_that_may_not_forward_is_named(self):
        bastion, server = self.server("bastion", config=["AllowTcpForwarding no"]), self.server()
        bastion.authorize(f"{server.user_key}.pub")
        self.refused(self.order(server, bastion.known_hosts(), jump=f"127.0.0.1:{bastion.port}"), "connect", "jump host", "forward")

    def behind(self, server):
        """What an order needs to come to `server` by a jump host of its own."""
        bastion = self.server("bastion")
        bastion.authorize(f"{server.user_key}.pub")
        known = self.root / "known"
        known.write_text(bastion.known_hosts_line() + (server.known_hosts_line() if isinstance(server, sshd.Server) else ""))
        return {"known_hosts": known, "jump": f"{bastion.user}@127.0.0.1:{bastion.port}"}

    def test_a_host_behind_it_that_hangs_up_is_told_at_once(self):
        with hostile_ssh.Hostile(hostile_ssh.closes) as hostile:
            hostile.user, hostile.user_key = "root", sshd.make_key(self.root / "key")
            courier = self.refused(self.order(hostile, deadline_ms=40000, **self.behind(hostile)), "connect", "closed the connection")
        self.assertLess(courier.took_s, 20)

    def test_the_end_of_a_tied_worker_behind_it_is_told(self):
        server = self.server()
        courier = self.send(self.order(server, tied=True, **self.behind(server)), self.launch(tied=True))
        pid = courier.wait_for("sliceup-worker")["pid"]
        courier.say("GO\n")
        lab.wait_for(lambda: Leaving.has_detached(pid), "the worker to work", 30)
        os.kill(pid, signal.SIGKILL)
        courier.wait_for("ended", 20)
        self.assertEqual(0, courier.end())

    def test_behind_a_jump_host_the_address_must_be_given_where_nothing_is_carried(self):
        server = self.server()
        courier = self.send({**self.order(server, jump="127.0.0.1"), "reach": "direct"}, self.launch(address=""))
        self.assertEqual(2, courier.end())
        self.assertIn("coordinator.address", courier.heard[-1]["why"])


class Hosts(Carrying):
    """What a host may be like."""

    def test_another_architecture_is_refused(self):
        path = self.tools(uname="echo 6.1.0-nice riscv64")
        self.refused(self.order(self.server(config=[path])), "shell", "riscv64", os.uname().machine)
        # The bootstrap goes on until it is to say something: else it would make its folder behind our cleaning up.
        lab.wait_for((self.directory / "bundles").is_dir, "the bootstrap to come so far", 20)

    def test_what_the_worker_says_a_host_lacks_is_passed_on(self):
        self.bundle = make_bundle(self.root / "picky.bundle", join=ELSE.format(3, "python3 is missing: install it"))
        self.refused(self.order(self.server()), "libraries", "python3 is missing: install it")

    def test_one_whose_libraries_are_damaged_is_brought_anew(self):
        """A worker of the same bundle that runs for another test would lend its memory, so this bundle is no other test's."""
        plain = lab.BUILD / "plain" if (lab.BUILD / "plain").is_dir() else lab.BUILD
        own, self.bundle = self.root / "sliceup-worker", self.root / "own.bundle"
        subprocess.run(["objcopy", "--add-section", f".only-here={lab.TOP / 'LICENSE'}", plain / "bin" / "sliceup-worker", own], check=True, timeout=60)
        subprocess.run([lab.TOP / "deploy" / "bundle", plain / "image-start", own, self.bundle], check=True, timeout=60)
        name, head = self.bundle.with_suffix(".bundle.head").read_text().split()
        self.assertNotEqual(name, (lab.BUILD / "bin" / "sliceup-worker.bundle.head").read_text().split()[0])
        order = {**self.order(self.server()), "bundle_sha256": name, "bundle_head_bytes": int(head)}

        def begun():
            courier = self.carried(order)
            pid = courier.wait_for("sliceup-worker")["pid"]
            os.kill(pid, signal.SIGKILL)
            lab.wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the worker to be gone with its memory", 20)
            return courier
        begun()
        image = self.place().read_bytes()
        self.place().write_bytes(image[:-9] + bytes([image[-9] ^ 1]) + image[-8:])
        courier = begun()
        self.assertIn("did not match its sha256", courier.wait_for("found")["found"])
        self.assertEqual(["upload", "start", "upload", "start", "join"], courier.steps()[-5:])
        self.assertEqual(image, self.place().read_bytes())

    def test_one_that_is_damaged_again_is_brought_once(self):
        self.bundle = make_bundle(self.root / "bad.bundle", join=ELSE.format(4, "its libc is bad"))
        self.refused(self.order(self.server()), "libraries", "its libc is bad")
        again = self.refused(self.order(self.server("again")), "libraries", "its libc is bad")
        self.assertEqual(["upload", "start", "upload", "start"], again.steps()[-4:])

    def test_a_worker_that_does_not_run_is_refused(self):
        self.bundle = make_bundle(self.root / "broken.bundle", join="echo no such loader >&2; exit 127")
        self.refused(self.order(self.server()), "start", "exit status 127", "no such loader")

    def test_a_worker_that_falls_before_it_answers_is_refused(self):
        self.bundle = make_bundle(self.root / "falls.bundle", join="echo bad luck >&2; exit 7")
        courier = self.refused(self.order(self.server()), "start", "exit status 7")
        self.assertIn(b"bad luck", courier.errors)

    def test_a_directory_that_others_may_write_to_is_refused(self):
        self.directory.mkdir()
        for mode in (0o777, 0o770, 0o702):
            with self.subTest(oct(mode)):
                self.directory.chmod(mode)
                self.refused(self.order(self.server(f"sshd-{mode}")), "upload", "nobody else may write to", str(self.directory))

    def test_a_directory_that_is_a_link_is_refused(self):
        (self.root / "elsewhere").mkdir(mode=0o700)
        self.directory.symlink_to(self.root / "elsewhere")
        self.refused(self.order(self.server()), "upload", "no symbolic link")

    @unittest.skipUnless(IS_ROOT, "needs root, to give a directory away")
    def test_a_directory_of_somebody_else_is_refused(self):
        self.directory.mkdir(mode=0o700)
        os.chown(self.directory, 12345, -1)
        self.refused(self.order(self.server()), "upload", "of uid 0")

    def test_a_directory_that_cannot_be_made_is_refused(self):
        (self.root / "file").write_text("")
        self.directory = self.root / "file" / "below"
        self.refused(self.order(self.server()), "upload", "cannot be made")

    @unittest.skipUnless(IS_ROOT, "needs root, to mount")
    def test_a_full_disk_is_refused_and_nothing_is_left_there(self):
        small = self.root / "small"
        small.mkdir()
        mount = f"mount -t tmpfs -o size=512k,mode=700 small {small} && exec \"$@\""
        server = self.server(within=["unshare", "--mount", "sh", "-c", mount, "sh"])
        self.directory = small / "host"
        self.bundle = make_bundle(self.root / "large.bundle", padding=2 << 20)
        self.refused(self.order(server), "upload", "No space left")
        seen = pathlib.Path(f"/proc/{server.process.pid}/root{self.directory}/bundles")
        lab.wait_for(lambda: not list(seen.iterdir()), "the temporary file to be removed", 20)

    @unittest.skipUnless(IS_ROOT, "needs root, to mount")
    def test_a_directory_that_is_read_only_is_refused(self):
        small = self.root / "small"
        small.mkdir()
        mount = f"mount -t tmpfs -o ro,mode=700 small {small} && exec \"$@\""
        self.directory = small / "host"
        self.refused(self.order(self.server(within=["unshare", "--mount", "sh", "-c", mount, "sh"])), "upload", "Read-only")

    def test_a_bundle_that_arrives_changed_is_refused_and_removed(self):
        order = self.order(self.server())
        self.refused({**order, "bundle_sha256": "ab" * 32}, "upload", "sha256", order["bundle_sha256"], "ab" * 32)
        lab.wait_for(lambda: not self.bundles(), "the temporary files to be removed", 20)

    def test_a_bundle_that_was_replaced_meanwhile_is_refused(self):
        order = self.order(self.server())
        make_bundle(self.bundle, padding=9999)
        self.refused(order, "upload", "was replaced")

    def slow_head(self):
        """A tool of the host that reads a little of the bundle, makes the first file, and waits for the second."""
        mark, go = self.root / "mark", self.root / "go"
        slow = f'[ "$2" -gt 1000000 ] || exec /usr/bin/head "$@"; /usr/bin/head -c 1000; touch {mark}; n=0; while [ ! -e {go} ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; ' \
               f'exec /usr/bin/head -c $(($2-1000))'
        return self.tools(head=slow), mark, go

    def test_a_host_that_reads_nothing_for_a_while_is_sent_more_than_the_usual(self):
        """A server may say only then what was read, or the way is long."""
        tools, mark, go = self.slow_head()
        self.bundle = make_bundle(self.root / "large.bundle", padding=4 << 20)
        courier = self.send(self.order(self.server(config=[tools])))
        lab.wait_for(mark.exists, "the upload to begin", BOUND_S)
        sent = lambda: max(int(pathlib.Path(f"/proc/{courier.process.pid}/fdinfo/{fd.name}").read_text().split()[1])
                           for fd in pathlib.Path(f"/proc/{courier.process.pid}/fd").iterdir() if os.readlink(fd) == str(self.bundle))
        lab.wait_for(lambda: sent() > 1 << 20, "a megabyte to be sent", BOUND_S)
        go.touch()
        courier.wait_for("sliceup-worker")

    def test_an_upload_that_is_cut_leaves_nothing(self):
        tools, mark, go = self.slow_head()
        self.bundle = make_bundle(self.root / "large.bundle", padding=16 << 20)
        courier = self.send(self.order(self.server(config=[tools])))
        lab.wait_for(mark.exists, "the upload to begin", BOUND_S)
        self.assertTrue([name for name in self.bundles() if name.startswith(".new-")])
        courier.process.kill()
        courier.process.wait(20)
        go.touch()
        lab.wait_for(lambda: not self.bundles(), "the half bundle to be removed", 30)

    def test_a_login_that_runs_no_command_is_told(self):
        server = self.server(config=["ForceCommand echo This account is not available.; exit 1"])
        self.refused(self.order(server), "shell", "exit status 1", "This account is not available.")

    def test_a_host_that_says_too_much_is_refused(self):
        self.refused(self.order(self.server(config=["ForceCommand yes"])), "shell", "64 KiB")

    def test_a_host_that_says_nothing_ends_at_the_deadline(self):
        server = self.server(config=["ForceCommand exec sleep 600"])
        courier = self.refused(self.order(server, deadline_ms=3000), "shell", "deadline of 3 s")
        self.assertLess(courier.took_s, 20)

    def test_endless_errors_fill_no_log(self):
        server = self.server(config=["ForceCommand exec yes >&2"])
        courier = self.refused(self.order(server, deadline_ms=3000), "shell", "deadline of 3 s")
        self.assertLessEqual(len(courier.errors), 64 << 10)


class Hostile(Carrying):
    """What listens there is no ssh server, or a bad one: one sentence, in time."""

    def met(self, behaviour, *words, deadline_ms=3000):
        known = self.root / "known"
        known.write_text("")
        key = sshd.make_key(self.root / "key")
        with hostile_ssh.Hostile(behaviour) as hostile:
            hostile.user, hostile.user_key = "root", key
            courier = self.refused(self.order(hostile, known, deadline_ms=deadline_ms), "connect", *words)
        self.assertLess(courier.took_s, deadline_ms / 1000 + 20)
        return hostile

    def test_one_that_never_greets(self):
        self.met(hostile_ssh.silent, "deadline of 3 s", "greeting")

    def test_one_whose_banner_never_ends(self):
        self.met(hostile_ssh.endless_lines, "deadline of 3 s", "greeting")

    def test_one_whose_line_never_ends(self):
        self.met(hostile_ssh.endless_line, "greeting")

    def test_one_that_greets_and_goes(self):
        self.met(hostile_ssh.greets_and_closes, "key exchange")

    def test_one_that_greets_and_is_silent(self):
        self.met(hostile_ssh.greets_and_is_silent, "deadline of 3 s")

    def test_one_that_babbles(self):
        self.met(hostile_ssh.greets_and_babbles)

    def test_one_that_announces_a_huge_packet(self):
        self.met(hostile_ssh.huge_packet)

    def test_one_that_trickles(self):
        self.met(hostile_ssh.trickles, "deadline of 3 s")

    def test_one_that_closes_early_is_tried_again_and_then_refused(self):
        for behaviour in (hostile_ssh.closes, hostile_ssh.too_busy):
            with self.subTest(behaviour.__name__):
                shutil.rmtree(self.root / "again", ignore_errors=True)
                for name in ("key", "key.pub"):
                    (self.root / name).unlink(missing_ok=True)
                self.assertGreater(self.met(behaviour, deadline_ms=4000).accepted, 2)

    def test_nobody_listens(self):
        with hostile_ssh.Hostile(hostile_ssh.closes) as gone:
            pass
        gone.user, gone.user_key = "root", sshd.make_key(self.root / "key")
        self.refused(self.order(gone, "/dev/null"), "connect", f"port {gone.port}", "Connection refused")

    def test_a_name_that_nobody_knows(self):
        server = self.server()
        self.refused(self.order(server, address="no-such-host.invalid"), "resolve", "cannot resolve the address for its ssh connection")


class Slurm(Carrying):
    """What can be seen without Slurm; test_slurm.py has the rest."""

    def by_slurm(self, srun=None):
        order = self.order(self.server(), deadline_ms=3000)
        del order["ssh"]
        self.tools(**({"srun": srun} if srun else {}))
        path = f"{self.root / 'tools'}:/usr/bin:/bin" if srun else str(self.root / "tools")
        return {**order, "by": "slurm", "slurm": {"account": "", "partition": "p1", "options": ["--mem=0"]}}, path

    def test_a_machine_without_srun_is_told(self):
        order, path = self.by_slurm()
        self.refused(order, "connect", "srun", "PATH", PATH=path)

    def test_the_step_is_asked_for_with_what_the_order_says(self):
        asked = self.root / "asked"
        order, path = self.by_slurm(f'printf "%s\\n" "$@" >{asked}; echo "srun: error: Invalid partition name specified" >&2; exit 1')
        self.refused(order, "connect", "Invalid partition", "slurm.partition", PATH=path)
        words = asked.read_text().split("\n")
        for word in ("--partition=p1", "--nodelist=h0", "--mem=0", "--ntasks=1"):
            self.assertIn(word, words)
        self.assertNotIn("--overlap", words)
        self.assertLess(words.index("--mem=0"), words.index("--ntasks=1"), "the user's options must not win")

    def test_the_environment_does_not_bend_the_streams_of_the_step(self):
        given = self.root / "given"
        order, path = self.by_slurm(f'env >{given}; echo "srun: error: Invalid partition name specified" >&2; exit 1')
        self.refused(order, "connect", PATH=path, SLURM_LABELIO="1", SLURM_STDOUTMODE="/tmp/out", SLURM_CONF="/etc/slurm.conf")
        names = [line.split("=")[0] for line in given.read_text().splitlines()]
        self.assertIn("SLURM_CONF", names)
        self.assertEqual([], [name for name in names if name in ("SLURM_LABELIO", "SLURM_STDOUTMODE")])

    def test_a_queue_that_does_not_move_ends_at_the_deadline_and_leaves_no_srun(self):
        pid = self.root / "pid"
        told = self.root / "told"
        order, path = self.by_slurm(f'trap "touch {told}; exit 1" TERM; echo $$ >{pid}; echo "srun: job 7 queued" >&2; '
                                    "while :; do sleep 0.1; done")
        self.refused(order, "connect", "deadline of 3 s", "srun: job queued", PATH=path)
        self.assertTrue(told.exists(), "srun was killed, and its job stays in the queue")
        self.assertFalse(lab.alive(int(pid.read_text())))


class Leaving(Carrying):
    def test_without_go_the_worker_ends_with_the_coordinator(self):
        courier = self.send(self.order(self.server()))
        pid = courier.wait_for("sliceup-worker")["pid"]
        courier.hang_up()
        self.assertEqual(1, courier.end())
        lab.wait_for(lambda: not lab.alive(pid), "the worker to end", 30)

    def test_a_coordinator_that_goes_early_takes_its_courier_along(self):
        with hostile_ssh.Hostile(hostile_ssh.silent) as silent:
            silent.user, silent.user_key = "root", sshd.make_key(self.root / "key")
            courier = self.send(self.order(silent, "/dev/null", deadline_ms=50000))
            lab.wait_for(lambda: silent.accepted, "the connection", 30)
            courier.hang_up()
            self.assertEqual(1, courier.end(30))
        self.assertLess(courier.took_s, 40)

    def test_a_worker_that_falls_after_go_is_told(self):
        (self.root / "file").write_text("")
        courier = self.send(self.order(self.server()), self.launch(directory=str(self.root / "file" / "below")))
        courier.wait_for("sliceup-worker")
        courier.say("GO\n")
        self.assertEqual(0, courier.end())
        self.assertEqual("exit status 3", courier.heard[-1].get("ended"), courier.heard)

    def test_a_tied_worker_ends_with_its_connection(self):
        courier = self.send(self.order(self.server(), tied=True), self.launch(tied=True))
        pid = courier.wait_for("sliceup-worker")["pid"]
        courier.say("GO\n")
        lab.wait_for(lambda: self.has_detached(pid), "the worker to work", 30)
        self.assertIsNone(courier.process.poll())
        courier.hang_up()
        self.assertEqual(0, courier.end())
        lab.wait_for(lambda: not lab.alive(pid), "the worker to end", 40)

    def test_the_end_of_a_tied_worker_is_told(self):
        courier = self.send(self.order(self.server(), tied=True), self.launch(tied=True))
        pid = courier.wait_for("sliceup-worker")["pid"]
        courier.say("GO\n")
        lab.wait_for(lambda: self.has_detached(pid), "the worker to work", 30)
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(0, courier.end())
        self.assertEqual("a signal", courier.heard[-1].get("ended"), courier.heard)

    @staticmethod
    def has_detached(pid):
        return os.readlink(f"/proc/{pid}/fd/2").endswith("worker.log")

    def test_sigterm_ends_a_courier_and_the_worker_it_had_started(self):
        courier = self.send(self.order(self.server()))
        pid = courier.wait_for("sliceup-worker")["pid"]
        courier.process.terminate()
        self.assertEqual(-signal.SIGTERM, courier.process.wait(20))
        lab.wait_for(lambda: not lab.alive(pid), "the worker to end", 30)


if __name__ == "__main__":
    unittest.main()
