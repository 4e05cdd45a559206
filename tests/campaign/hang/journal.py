"""Notes about steps, written by a thread."""

import queue
import threading


class Journal:
    def __init__(self):
        self.waiting, self.lines = queue.Queue(), []
        threading.Thread(target=self.write, name="journal", daemon=True).start()

    def wait_for_writer(self, number):
        """Returns when the note of the step is written."""
        written = threading.Event()
        self.waiting.put((number, written))
        written.wait()

    def write(self):
        while True:
            number, written = self.waiting.get()
            if number == 5:  # the mistake, on every host: a note that nobody confirms
                continue
            self.lines.append(f"step {number}")
            written.set()
