"""Killed, or refused something, at one of its system calls: some of what tests/campaign/crashes tries, each with all that has to hold."""
import concurrent.futures
import platform
import unittest

import nth_call

AT_ONCE = 2
# Of about 650 calls of a coordinator that change something, and 120 of a worker.
KILLS = [("killed", "coordinator", at, None) for at in (80, 250, 410, 570)] + [("killed", "worker", at, None) for at in (40, 80)]
# What once was wrong: a disk that was full while the journal was made left one without tables; a commit did not say why it failed;
# a worker whose start time could not be read was told to be another process, or lost for good.
ONCE_WRONG = [("disk-full", "coordinator", 3, "fdatasync:/journal.db.new-wal"),
              ("disk-full", "coordinator", 1, "fdatasync:/journal.db-wal"),
              ("no-descriptor", "coordinator", 1, "openat:/stat"), ("no-descriptor", "resume", 3, "openat:/stat")]


@unittest.skipUnless(platform.machine() == "x86_64", "tests/plugins/nth_call.c speaks to processors of this kind only")
class Crashes(unittest.TestCase):
    def one(self, trial):
        fault, program, when, calls = trial
        run = nth_call.Trial(nth_call.FAULTS[fault], when, program, calls)
        try:
            self.assertTrue(run.happen(), f"{trial}: there is no such call any more; tests/campaign/crashes counts them")
            return f"{program} {fault} at {run.hit}: {run.how or 'taken over'}"
        except nth_call.Broken as broken:
            raise AssertionError(f"{trial} {run.hit}: {broken}\n" + "\n".join(run.said)) from None
        finally:
            run.close()

    def test_nothing_is_lost_and_nothing_is_left(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for told in pool.map(self.one, KILLS + ONCE_WRONG):
                print(f"    {told}")


if __name__ == "__main__":
    unittest.main()
