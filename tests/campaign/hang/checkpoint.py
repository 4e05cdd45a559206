"""Weights of the last step, which a thread uploads."""

import threading

import numpy as np

import uploader


class Checkpoint:
    def __init__(self, rank):
        self.lock, self.weights, self.number = threading.Lock(), None, None
        self.has_taken = threading.Event()
        self.rank = rank

    def snapshot_weights(self, w, number):
        """w: (width,) float32, on all devices. After step 4 a thread begins to upload."""
        with self.lock:
            self.weights, self.number = np.asarray(w.addressable_data(0)), number
        if number == 4:
            threading.Thread(target=self.upload, name="upload", daemon=True).start()
            self.has_taken.wait()

    def upload(self):
        with self.lock:
            self.has_taken.set()
            uploader.send_and_confirm(self.weights.tobytes(), self.rank)
