"""Cases of people who do this job (tests/campaign/cases), those that take seconds: what they would expect is said."""
import pathlib
import sys
import unittest

CASES = pathlib.Path(__file__).resolve().parents[1] / "campaign/case"
sys.path.insert(0, str(CASES))
import caselib          # noqa: E402
import link_cases       # noqa: E402
import netlab           # noqa: E402


class LinkCases(unittest.TestCase):
    """Ways between the coordinator and its hosts: a firewall, NAT, one family of addresses, a connection that ends."""


def tried(name, case):
    def test(self):
        if case.hosts:
            netlab.needs_root()
        stand = caselib.Stand(name, case.hosts, case.shared)
        self.addCleanup(stand.close)
        case.do(stand)
        wrong = caselib.judged(case, stand, timed=False)
        self.assertEqual([], wrong, stand.text())
    return test


for case_name, a_case in link_cases.CASES.items():
    setattr(LinkCases, "test_" + case_name.replace("-", "_"), tried(case_name, a_case))

if __name__ == "__main__":
    unittest.main()
