"""`sliceup init`: what it writes from a host list, a Slurm allocation and gcloud's answers is a slice file as it stands."""
import json
import re
import subprocess
import unittest

import lab

ID = "7519457668826798549"
MANY = 300


def node(family, topology, hosts, *, name="v6e", state="READY", external=False, networks=1, **more):
    """What gcloud prints of a TPU VM: docs.cloud.google.com/tpu/docs, projects.locations.nodes. What is unset is absent."""
    chips = 1
    for size in re.findall(r"\d+", topology):
        chips *= int(size)
    endpoints = []
    for worker in range(hosts):
        for network in range(networks):
            access = {"accessConfig": {"externalIp": f"34.1.{worker // 200}.{worker % 200 + 1}"}} if external else {}
            endpoints.append({**access, "ipAddress": f"10.{network}.{worker // 200}.{worker % 200 + 1}", "port": 8470})
    counted = 2 * chips if family in ("V4", "V5P") else chips
    network = {"network": "projects/proj-1/global/networks/default", "subnetwork": "projects/proj-1/regions/us-east5/subnetworks/default"}
    return {"acceleratorConfig": {"topology": topology, "type": family},
            "acceleratorType": f"{family.lower().replace('_', '')}-{counted}", "apiVersion": "V2",
            "createTime": "2026-11-20T10:04:11.102934512Z", "health": "HEALTHY", "id": ID, "labels": {"team": "a'b\"}: x"},
            "metadata": {"startup-script": "#! /bin/bash\n"}, "name": f"projects/proj-1/locations/us-east5-b/nodes/{name}",
            **({"networkConfigs": [network] * networks} if networks > 1 else {"networkConfig": network}), "networkEndpoints": endpoints,
            "runtimeVersion": "v2-alpha-tpuv6e", "schedulingConfig": {"spot": True}, "serviceAccount": {"email": "1-compute@example.com"},
            "shieldedInstanceConfig": {}, "state": state, **more}


class Init(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.user = self.lab.root / "user"
        (self.user / ".ssh").mkdir(parents=True)
        (self.user / ".ssh/google_compute_engine").write_text("key\n")
        self.knows()

    def knows(self, *names):
        (self.user / ".ssh/google_compute_known_hosts").write_text("".join(f"{name} ssh-ed25519 AAAA\n" for name in names))

    def sliceup(self, *args, answer=None, **env):
        done = subprocess.run([lab.BUILD / "bin/sliceup", *args], input=answer, capture_output=True, text=True, timeout=60,
                              env=self.lab.env(HOME=str(self.user), **env), cwd=self.lab.files)
        return self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def described(self, answer, *args):
        return self.sliceup("init", "--gcloud", "-", *args, answer=answer if isinstance(answer, str) else json.dumps(answer))

    def accepted(self, ended, **env):
        """The plan that check prints; it finds no mistake in what init wrote."""
        self.assertEqual(0, ended.status, ended)
        (self.lab.files / "made.yaml").write_text(ended.out)
        checked = self.sliceup("check", "made.yaml", **env)
        self.assertEqual(0, checked.status, f"{checked}\n{ended.out}")
        self.assertIn("no mistakes found", checked.out)
        return checked

    def refused(self, ended, status, *words):
        self.assertEqual((status, ""), (ended.status, ended.out), ended)
        for word in words:
            self.assertIn(word, ended.err)
        self.assertNotRegex(ended.err, "[\x00-\x09\x0b-\x1f]")

    # ---- hosts and Slurm ----

    def test_a_host_list_is_reached_over_ssh(self):
        checked = self.accepted(self.sliceup("init", "v6e-[0-3]", "--user", "tpu", "--name", "mine"))
        self.assertIn("slice   mine", checked.out)
        self.assertIn("v6e-[0-3]: ssh tpu@v6e-[0-3]\n", checked.out)
        self.assertIn("10.0.0.[1-2,4]: ssh 10.0.0.[1-2,4]", self.accepted(self.sliceup("init", "10.0.0.[1-4]!10.0.0.3")).out)
        for ladder in ("jax", "jax-full", "jax-train", "torch-xla", "plain"):
            self.accepted(self.sliceup("init", "a,\nb\t,c", "--ladder", ladder))
        for words in ((), ("a", "--slurm"), ("a!a",), ("@spare",), ("a'b",), ("a", "--user", "x y"), ("a", "--name", "'"), ("a", "--ladder", "../x"), ("a", "b")):
            ended = self.sliceup("init", *words)
            self.assertEqual((2, ""), (ended.status, ended.out), ended)

    def test_an_allocation_is_taken_where_it_is(self):
        allocation = {"SLURM_JOB_NODELIST": "h[0-3]", "SLURM_JOB_ID": "17"}
        made = self.sliceup("init", "--slurm", **allocation)
        self.assertIn("h[0-3]", made.err)
        checked = self.accepted(made, **allocation)
        self.assertIn("slice   slurm-17", checked.out)
        self.assertIn("launch  slurm", checked.out)
        self.refused(self.sliceup("init", "--slurm"), 3, "SLURM_JOB_NODELIST is not set")
        self.accepted(self.sliceup("init", "--slurm", **{**allocation, "SLURM_JOB_ID": "17'\n"}), **allocation)

    def test_a_recipe_makes_a_slice_file_that_check_accepts(self):
        shapes = {"v6e-4": (1, "ct6e-standard-4t", "2x2"), "v6e-8": (1, "ct6e-standard-8t", "2x4"), "v6e-16": (4, "ct6e-standard-4t", "4x4"),
                  "v6e-256": (64, "ct6e-standard-4t", "16x16"), "v5e-16": (4, "ct5lp-hightpu-4t", "4x4"), "v5p-8": (1, "ct5p-hightpu-4t", "2x2x1"), "v5p-16": (2, "ct5p-hightpu-4t", "2x2x2"),
                  "v5p-256": (32, "ct5p-hightpu-4t", "4x4x8"), "v4-8": (1, "ct4p-hightpu-4t", "2x2x1"), "v4-32": (4, "ct4p-hightpu-4t", "2x2x4"), "h100x8": (2, None, None), "a100x8": (1, None, None)}
        self.assertEqual({path.stem for path in (lab.TOP / "configs/recipes").glob("*.yaml")}, {name.partition("-")[0] for name in shapes})
        for name, (hosts, machine, topology) in shapes.items():
            path = self.lab.files / f"{name}.yaml"
            self.passes(self.lab.sliceup("init", f"t-[1-{hosts}]", "--recipe", name, "--name", name, "-o", path))
            text = path.read_text()
            for key, value in (("machine", machine), ("topology", topology)):
                found = re.search(rf"(?m)^{key}: '?([^'\n]*)", text)
                self.assertEqual(value, found and found[1], text)
            checked = self.passes(self.lab.sliceup("check", path))
            self.assertIn("no mistakes found", checked.out, name)
        self.assertIn("collective", self.passes(self.lab.sliceup("rehearse", "--check", self.lab.files / "v6e-16.yaml")).out)

    def test_a_recipe_that_cannot_be(self):
        for words, said in ((("t-[1-3]", "--recipe", "v6e-16"), "hosts of which 3 make such a slice"), (("t", "--recipe", "v9-4"), "no recipe 'v9'"),
                            (("t", "--recipe", "v6e-x"), "expected a size such as v6e-16"), (("t", "--recipe", "../slices/x"), "expected a name such as v6e-16"),
                            (("t-[1-3]", "--recipe", "v5p-24"), "no usual topology"), (("t", "--recipe", "v6e-4", "--ladder", "plain"), "none of them")):
            refused = self.lab.sliceup("init", *words)
            self.assertEqual((2, ""), (refused.status, refused.out), refused)
            self.assertIn(said, refused.err)

    def test_a_file_that_exists_is_not_replaced(self):
        made = self.sliceup("init", "a", "-o", "new.yaml")
        self.assertEqual((0, ""), (made.status, made.out))
        self.assertIn("next: sliceup check new.yaml\n", made.err)
        before = (self.lab.files / "new.yaml").read_text()
        self.assertIn("hosts: a ", before)
        self.refused(self.sliceup("init", "b", "-o", "new.yaml"), 2, "new.yaml", "exists")
        self.refused(self.sliceup("init", "b", "-o", "none/new.yaml"), 2, "none/new.yaml")
        self.assertEqual(before, (self.lab.files / "new.yaml").read_text())

    # ---- gcloud ----

    def test_a_v6e_16_is_planned_whole(self):
        self.knows(f"tpu.{ID}-0-fl77Co", f"tpu.{ID}-1-a+/+0Z", f"tpu.{ID}-2", f"tpu.{ID}-3-000000", "compute.5")
        made = self.described(node("V6E", "4x4", 4))
        self.assertEqual("sliceup: next: keep this as FILE, then sliceup check FILE\n", made.err)
        self.assertIn(f"{{name: v6e-0, address: 10.0.0.1, ssh: {{host_key_alias: tpu.{ID}-0-fl77Co}}}}\n", made.out)
        checked = self.accepted(made)
        self.assertEqual([], [line for line in checked.err.splitlines() if "warning: rung" not in line])
        self.assertIn("v6e-[0-3]: ssh 10.0.0.[1-4]\n", checked.out)
        self.assertIn("4 devices each", checked.out)
        self.assertIn("ladder  jax", checked.out)
        for ladder in ("jax-full", "jax-train", "torch-xla", "tpu-probe", "plain"):
            self.accepted(self.described(node("V6E", "4x4", 4), "--ladder", ladder))

    def test_other_generations_and_shapes(self):
        for family, topology, hosts, machine in (("V5P", "2x2x2", 2, "ct5p-hightpu-4t"), ("V5LITE_POD", "4x4", 4, "ct5lp-hightpu-4t"),
                                                 ("V4", "2x2x2", 2, "ct4p-hightpu-4t"), ("V6E", "2x4", 1, "ct6e-standard-8t")):
            with self.subTest(family):
                made = self.described(node(family, topology, hosts))
                self.assertIn(f"machine: {machine}\ntopology: {topology}\nprofile: tpu-v6e\n", made.out)
                self.assertEqual(family != "V6E", "no profile is shipped for" in made.err, made)
                self.accepted(made)
        plain = node("V5P", "2x2x2", 2)
        del plain["acceleratorConfig"]
        made = self.described(plain)
        self.assertIn("the topology is not told", made.err)
        self.assertIn("machine: ct5p-hightpu-4t\nprofile", made.out)
        self.accepted(made)
        self.assertIn("machine: ct3p-hightpu-4t\ntopology: 4x4\n", self.described(node("V3", "4x4", 4)).out)
        for unknown, why in ((node("V6E", "4x4", 3), "is a worker missing?"),
                             ({**plain, "acceleratorType": "v9-16"}, "'v9' is not in configs/machines/tpu.yaml")):
            made = self.described(unknown)
            self.assertIn(why, made.err)
            self.assertEqual(why[0] == "i", "is a worker missing?" in made.err, made)
            self.assertIn("profile: plain\n", made.out)
            self.accepted(made)

    def test_external_addresses_are_for_ssh_only(self):
        made = self.described(node("V6E", "4x4", 4, external=True), "--external", "--user", "me_x")
        checked = self.accepted(made)
        self.assertIn("v6e-[0-3]: ssh me_x@34.1.0.[1-4]\n", checked.out)
        self.assertIn("10.0.0.2", checked.out)
        self.assertNotIn("34.1", self.described(node("V6E", "4x4", 4, external=True)).out)
        made = self.described(node("V6E", "4x4", 4), "--external")
        self.assertIn("no external address", made.err)
        self.accepted(made)

    def test_with_two_networks_every_second_address_is_a_worker(self):
        self.assertIn("v6e-[0-3]: ssh 10.0.0.[1-4]\n", self.accepted(self.described(node("V6E", "4x4", 4, networks=2))).out)

    def test_keys_that_gcloud_has_not_seen_are_told(self):
        self.knows(f"tpu.{ID}-1")
        made = self.described(node("V6E", "4x4", 4))
        self.assertIn("gcloud knows no host keys of v6e-[0,2-3]: run gcloud compute tpus tpu-vm ssh v6e --project=proj-1 --zone=us-east5-b "
                      "--worker=all", made.err)
        self.accepted(made)
        anonymous = node("V6E", "4x4", 4)
        del anonymous["id"]
        made = self.described(anonymous)
        self.assertNotIn("host_key_alias", made.out)
        self.assertIn("no id", made.err)
        self.accepted(made)
        anonymous["networkEndpoints"][0]["accessConfig"] = {"externalIp": "34.1.0.1"}
        self.assertIn("v6e-[0-3]: ssh 10.0.0.[2-4],34.1.0.1\n", self.accepted(self.described(anonymous, "--external")).out)

    def test_a_node_that_is_away_or_unwell(self):
        self.refused(self.described(node("V6E", "4x4", 4, state="PREEMPTED")), 3, "is PREEMPTED, expected READY")
        for state in ("CREATING", "STARTING", "REPAIRING", "HIDING", "UNHIDING", "RESTARTING", "\x1b[2J"):
            made = self.described(node("V6E", "4x4", 4, state=state))
            self.assertIn("warning: the node is not READY", made.err)
            self.assertNotIn("\x1b", made.err)
            self.accepted(made)
        made = self.described(node("V6E", "4x4", 4, health="UNHEALTHY_TENSORFLOW", symptoms=[
            {"createTime": "2026-11-20T10:04:11Z", "symptomType": "HBM_OUT_OF_MEMORY", "workerId": "2"}]))
        self.assertIn("health is UNHEALTHY_TENSORFLOW\nwarning: worker 2 has the symptom HBM_OUT_OF_MEMORY\n", made.err)
        self.accepted(made)

    def test_a_queued_resource_names_its_nodes(self):
        spec = {"parent": "projects/proj-1/locations/us-east5-b", "node": {"acceleratorType": "v6e-16", "runtimeVersion": "v2-alpha-tpuv6e"}}
        queued = {"name": "projects/proj-1/locations/us-east5-b/queuedResources/qr", "state": {"state": "ACTIVE"}, "spot": {},
                  "tpu": {"nodeSpec": [{**spec, "multisliceParams": {"nodeCount": 2}}]}}
        ended = self.described(queued)
        self.refused(ended, 2, "a queued resource has no addresses")
        for n in range(2):
            self.assertIn(f"gcloud compute tpus tpu-vm describe qr-{n} --project=proj-1 --zone=us-east5-b --format=json > qr-{n}.json\n", ended.err)

    # ---- what nobody should be able to do ----

    def test_nothing_else_is_taken(self):
        good = json.dumps(node("V6E", "4x4", 4))
        for text, words in (("", "not whole JSON"), (good[:-40], "not whole JSON"), ("[" * 100000, "not whole JSON"), ("[]", "no node"),
                            ("[7]", "no node"), (f"[{good},{good}]", "several slices"), ("{}", "name is ''"), ("\x00", "not whole JSON"),
                            (json.dumps(node("V6E", "4x4", 4, name='x"\n  launcher: slurm')), "the node's name is 'x\"   launcher: slurm'"),
                            (json.dumps(node("V6E", "4x4", 4, networkEndpoints=[{"ipAddress": "10.0.0.1 "}])), "'10.0.0.1 '")):
            with self.subTest(text[:40]):
                self.refused(self.described(text), 2, words)
        self.refused(self.sliceup("init", "--gcloud", "large.json"), 2, "large.json", "No such file")
        (self.lab.files / "large.json").write_text(good + " " * (4 << 20))
        self.refused(self.sliceup("init", "--gcloud", "large.json"), 3, "large.json has more than 4194304 bytes")
        self.refused(self.sliceup("init", "--gcloud", "."), 3, "cannot read .")

    def test_many_hosts_and_the_newer_internet(self):
        made = self.described(node("V6E", "4x4", MANY))
        self.assertEqual(MANY, made.out.count("  - {name: v6e-"))
        self.accepted(made)
        self.assertIn("v6e-[0-255]: ssh 10", self.accepted(self.described(node("V4", "8x8x16", 256))).out)
        hostile = self.described(node("V6E", "4x4'\nladder: x", 4), "--ladder", "jax")
        self.assertNotIn("topology: ", hostile.out.replace("machine: and topology:,", ""))
        self.accepted(hostile)
        six = node("V6E", "4x4", 4)
        for worker, endpoint in enumerate(six["networkEndpoints"]):
            endpoint["ipAddress"] = f"fd00::{worker}"
        self.assertIn("v6e-2: ssh fd00::2\n", self.accepted(self.described(six)).out)
        self.accepted(self.described(node("V6E", "4x4", 4, id=int(ID))))


if __name__ == "__main__":
    unittest.main()
