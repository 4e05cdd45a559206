"""slurm_lab.py - Slurm on the hosts of a netlab: slurmctld on the node, a slurmd on each host, munge between them.

Its configuration, keys and state lie in the lab's own folders; nothing of this machine's Slurm, if it has one, is used.
The daemons are processes of the lab's namespaces, so they end with it.
"""
import secrets
import shutil
import subprocess

import lab
import netlab

# slurm.conf(5). cgroup/v1 is named because Slurm 22.05 loads one of its cgroup plugins in any case; nothing uses it.
CONF = """ClusterName=lab
SlurmctldHost=node({node})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge/socket
CredType=cred/munge
CryptoType=crypto/munge
StateSaveLocation={state}
SlurmdSpoolDir=/var/tmp/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldPort=6817
SlurmdPort=6818
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
InactiveLimit=0
KillWait=5
WaitTime=0
Prolog={prolog}
SlurmctldTimeout=60
SlurmdTimeout=60
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
PartitionName=closed Nodes=ALL Default=NO State=DOWN
"""
DAEMONS = ("munged", "slurmctld", "slurmd")


def needs_slurm():
    netlab.needs_root()
    for name in (*DAEMONS, "srun", "salloc"):
        if not shutil.which(name, path=netlab.PATH):
            raise AssertionError(f"{name} is missing: tests/packages.txt names its package")


class SlurmLab(netlab.NetLab):
    """A netlab whose hosts are Slurm's nodes."""

    def __init__(self, count=3, shared=()):
        needs_slurm()
        self.daemons = []
        super().__init__(count, shared)
        try:
            self._begin_slurm()
        except BaseException:
            self.close()
            raise

    def _begin_slurm(self):
        self.folder.mkdir()
        (self.root / "state").mkdir()
        self.conf = self.folder / "slurm.conf"
        nodes = "\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs=4 State=UNKNOWN" for host in self.hosts)
        self.conf.write_text(CONF.format(node=netlab.NODE, state=self.root / "state", nodes=nodes, prolog=self.prolog))
        self.set_prolog("#!/bin/sh\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        self._daemon(self.enter(), "node", ["slurmctld", "-D"])
        for host in self.hosts:
            self._daemon(self._enter_host(host), host.name, ["slurmd", "-D", "-N", host.name])
        lab.wait_for(self.all_idle, "every Slurm node to be idle", 60)

    @property
    def prolog(self):
        return self.folder / "prolog"

    def set_prolog(self, text):
        """What each slurmd runs, as root, before a job's first program on its node."""
        self.prolog.write_text(text)
        self.prolog.chmod(0o755)

    @property
    def folder(self):
        return self.files / "slurm"

    @staticmethod
    def _enter_host(host):
        pid = host.process.pid
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--target={pid}", "--mount", "--uts", "--net",
                f"--pid=/proc/{pid}/ns/pid_for_children", "--"]

    def _daemon(self, enter, name, argv):
        """munge first: the others answer nobody without it. Both stay in the foreground of one shell."""
        munge = ("mkdir -p /run/munge /var/tmp/slurmd && "
                 f"cp {self.folder}/munge.key /run/munge/key && chmod 400 /run/munge/key && "
                 "munged --foreground --force --socket /run/munge/socket --key-file /run/munge/key "
                 "--log-file /run/munge/log --pid-file /run/munge/pid --seed-file /run/munge/seed --num-threads 2 & "
                 "for i in $(seq 200); do test -S /run/munge/socket && break; sleep 0.05; done; exec \"$@\"")
        log = open(self.root / f"{name}.slurm.log", "w")
        self.daemons.append(subprocess.Popen([*enter, "sh", "-c", munge, "sh", *argv], stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=subprocess.STDOUT, cwd="/", env=self.env(),
                                             start_new_session=True))
        log.close()

    def all_idle(self):
        asked = ("sinfo", "--noheader", "--Node", "--partition=batch", "--format=%N %T")
        states = self.node_run(*asked, check=False).stdout.split("\n")
        return sorted(filter(None, states)) == sorted(f"{host.name} idle" for host in self.hosts)

    def env(self, **more):
        return super().env(SLURM_CONF=str(self.folder / "slurm.conf"), PATH=netlab.PATH, **more)
