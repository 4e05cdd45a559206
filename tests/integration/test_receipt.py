"""What a receipt says of its run: who asked for it and how, what it was launched with."""
import getpass
import os
import socket
import unittest

import lab
import schema
from test_env import Wheels


class WhatRan(lab.LabTest):
    def slice(self, **more):
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "high", "command": ["true"]}]
        return self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs)), **more)

    def test_who_asked_for_it_from_where_and_with_which_words(self):
        slice_file = self.slice()
        self.passes(self.lab.sliceup("run", slice_file, "--plain", "--hosts", "h[0-1]"))
        receipt = schema.document(self.lab.sliceup("receipt", "--json").out)
        header = receipt["headers"][0]
        home = os.path.realpath(self.lab.home)
        self.assertEqual({"user": getpass.getuser(), "uid": os.getuid(), "host": socket.gethostname(), "directory": os.getcwd(),
                          "command": [str(lab.SLICEUP), "run", str(slice_file), "--plain", "--hosts", "h[0-1]"]}, header["origin"])
        self.assertEqual(home, header["home"])
        text = self.lab.sliceup("receipt").out
        self.assertIn(f"run by   {getpass.getuser()} (uid {os.getuid()}) on {socket.gethostname()}, in {os.getcwd()}\n", text)
        self.assertIn(f"command  {lab.SLICEUP} run {slice_file} --plain --hosts h[0-1]\n", text)
        self.assertIn(f"folders  home {home}, cache {home}/cache\n", text)

    def test_the_launch_policy_is_one_line_for_hosts_that_share_it(self):
        profile = self.lab.write("own.yaml", "profile: own\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                                 "env: {OWN_LEVEL: '3', OWN_RANK: '{rank}', OWN_TOKEN: hush}\nslice_env: {OWN_PEERS: '{world}'}\n")
        self.passes(self.lab.sliceup("run", self.slice(profile=str(profile))))
        text = self.lab.sliceup("receipt").out
        self.assertIn("policy   profile own: OWN_LEVEL=3, OWN_TOKEN=present; programs of the slice: OWN_PEERS=2; of each host its own: "
                      "OWN_RANK on h[0-1]\n", text)
        self.assertNotIn("hush", text)


class WhatItUsed(lab.LabTest, Wheels):
    def test_versions_stand_together_and_not_only_in_the_facts(self):
        self.make([("torch-xla", "2.7.0", {}), ("libtpu", "0.0.11", {}), ("six", "1.0", {})])
        slice_file = self.lab.slice(hosts=2, ladder=self.ladder(), pins=str(self.pins), env_dir=str(self.lab.root / "envs" / "own"))
        self.passes(self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels))
        self.assertRegex(self.lab.sliceup("receipt").out, r"\nversions torch_xla 2\.7\.0, libtpu 0\.0\.11, python 3\.\d+\.\d+ on h\[0-1\]\n")


if __name__ == "__main__":
    unittest.main()
