"""netfaults.py - what can go wrong with a host without its doing: packets that are lost, processes that stand still."""


class Faults:
    """Verbs of a host; who has them can `run` a command in it and knows its `processes`."""

    def _rules(self, rules):
        text = "add table inet lab\ndelete table inet lab\n"
        if rules:
            text += "add table inet lab\nadd chain inet lab in { type filter hook input priority 0; }\n"
            text += "add chain inet lab out { type filter hook output priority 0; }\n" + "".join(rules)
        self.run("nft", "-f", "-", text=text)

    def cut(self, inward=True, outward=True):
        """What comes in, or what goes out, is lost from now on; connections stay open and say nothing."""
        self._rules(["add rule inet lab in iifname eth0 drop\n"] * inward +
                    ["add rule inet lab out oifname eth0 drop\n"] * outward)

    def lossy(self, percent):
        self._rules([f"add rule inet lab in iifname eth0 numgen random mod 100 < {percent} drop\n",
                     f"add rule inet lab out oifname eth0 numgen random mod 100 < {percent} drop\n"])

    def slow(self, addresses, packets):
        """To and from each of these, more packets a second are lost. (A limit of bytes lets a whole second's through at once.)"""
        self._rules([f"add rule inet lab {way} ip {end} {address} limit rate over {packets}/second burst 20 packets drop\n"
                     for address in addresses for way, end in (("in", "saddr"), ("out", "daddr"))])

    def heal(self):
        self._rules([])

    def pause(self):
        """Stops all but process 1 and sshd's listener, which nobody asks anything meanwhile."""
        self._signal_all("STOP")

    def resume(self):
        self._signal_all("CONT")

    def _signal_all(self, name):
        pids = sorted(self.processes())
        if pids:
            self.run("kill", f"-{name}", *pids, check=False)
