"""A soak: works a little and says so each second."""
import sys
import time
import evidence

for minute in range(int(sys.argv[1])):
    print("soak round", minute, sum(n * n for n in range(20000)))
    if minute == 4:
        evidence.now()
    time.sleep(1)
