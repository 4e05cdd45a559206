"""Cases of people who do this job (tests/campaign/cases), those that take seconds: what they would expect is said."""
import pathlib
import sys
import unittest

CASES = pathlib.Path(__file__).resolve().parents[1] / "campaign/case"
sys.path.insert(0, str(CASES))
import caselib          # noqa: E402
import file_cases       # noqa: E402
import host_cases       # noqa: E402
import link_cases       # noqa: E402
import netlab           # noqa: E402


class Cases(unittest.TestCase):
    """One test a case; of each module those that take seconds."""


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


for module in (file_cases, host_cases, link_cases):
    for case_name, a_case in module.CASES.items():
        if not a_case.long:
            setattr(Cases, "test_" + case_name.replace("-", "_"), tried(case_name, a_case))

if __name__ == "__main__":
    unittest.main()
