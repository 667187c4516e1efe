#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Trains a small network on handwritten digits; saves on request and resumes from its save.

A real model on real data (NumPy only), slowed down by --step-s so that a run lasts as long as wanted.

SIGUSR1 asks for a save. It is made at the next step's end (or the next epoch's, with --save-at epoch), under a
temporary name that is renamed once the bytes are on disk. A resumed run ends with exactly the weights of an
undisturbed one: the save holds the weights, the step, the generator of random numbers and the epoch's order.
"""

import argparse
import gzip
import hashlib
import json
import os
import signal
import sys
import time

import numpy as np

BATCH = 50
TRAIN_IMAGES = 1500
HIDDEN = 48
RATE = 0.4
NOISE = 0.05
STEPS_PER_EPOCH = TRAIN_IMAGES // BATCH


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="digits.csv.gz")
    parser.add_argument("--save", required=True, metavar="FILE", help="where the save goes and is resumed from")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--step-s", type=float, default=0.05, help="seconds that one step takes at least")
    parser.add_argument("--save-s", type=float, default=0.0, help="seconds that a save takes at least")
    parser.add_argument("--save-at", choices=["step", "epoch"], default="step")
    parser.add_argument("--after-save", choices=["exit", "go-on"], default="exit")
    parser.add_argument("--ignore-requests", action="store_true", help="hear SIGUSR1 and do nothing")
    parser.add_argument("--steps-log", metavar="FILE", help="gets one line for each event: time, run, event, step")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def load(path):
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    order = np.random.default_rng(0).permutation(len(table))
    images, labels = table[order, :-1] / 16.0, table[order, -1].astype(int)
    split = TRAIN_IMAGES
    return (images[:split], labels[:split]), (images[split:], labels[split:])


class Model:
    """One hidden layer, softmax at the end, plain gradient descent."""

    def __init__(self, rng):
        self.weights = {
            "w1": rng.normal(0, 1 / 8, (64, HIDDEN)),
            "b1": np.zeros(HIDDEN),
            "w2": rng.normal(0, HIDDEN**-0.5, (HIDDEN, 10)),
            "b2": np.zeros(10),
        }

    def forward(self, images):
        hidden = np.tanh(images @ self.weights["w1"] + self.weights["b1"])
        scores = hidden @ self.weights["w2"] + self.weights["b2"]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, scores / scores.sum(axis=1, keepdims=True)

    def step(self, images, labels):
        """Learns from one batch; returns its mean loss."""
        hidden, chance = self.forward(images)
        rows = np.arange(len(labels))
        loss = -np.log(chance[rows, labels]).mean()
        chance[rows, labels] -= 1
        chance /= len(labels)
        back = (chance @ self.weights["w2"].T) * (1 - hidden**2)
        slopes = {"w2": hidden.T @ chance, "b2": chance.sum(0), "w1": images.T @ back, "b1": back.sum(0)}
        for name, slope in slopes.items():
            self.weights[name] -= RATE * slope
        return loss

    def accuracy(self, images, labels):
        return float((self.forward(images)[1].argmax(axis=1) == labels).mean())

    def digest(self):
        whole = b"".join(self.weights[name].tobytes() for name in sorted(self.weights))
        return hashlib.sha256(whole).hexdigest()[:16]


class Run:
    """The state of one training: all of it is in the save."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.model = Model(self.rng)
        self.step = 0
        self.order = None

    def advance(self, images, labels):
        """Does one step; returns its loss."""
        within = self.step % STEPS_PER_EPOCH
        if within == 0:
            self.order = self.rng.permutation(TRAIN_IMAGES)
        chosen = self.order[within * BATCH : (within + 1) * BATCH]
        noisy = images[chosen] + self.rng.normal(0, NOISE, (BATCH, 64))
        loss = self.model.step(noisy, labels[chosen])
        self.step += 1
        return loss

    def save(self, path):
        part = f"{path}.part"
        with open(part, "wb") as file:
            generator = json.dumps(self.rng.bit_generator.state)
            order = np.zeros(0, int) if self.order is None else self.order
            np.savez(file, step=self.step, order=order, rng=generator, **self.model.weights)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def resume(self, path):
        with np.load(path) as saved:
            self.step = int(saved["step"])
            self.order = saved["order"]
            self.rng.bit_generator.state = json.loads(str(saved["rng"]))
            for name in self.model.weights:
                self.model.weights[name] = saved[name]


class Log:
    """Appends `time run event step` lines: what an onlooker counts lost and repeated steps from."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1) if path else None
        self.run = os.environ.get("SLURM_RESTART_COUNT", "0")

    def note(self, event, step):
        if self.file:
            self.file.write(f"{time.time():.3f} {self.run} {event} {step}\n")


def report(**facts):
    """One line of JSON for `surgent run`, if this runs under it."""
    path = os.environ.get("SURGENT_REPORT")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps(facts) + "\n")


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main():
    options = arguments()
    asked = []
    log = Log(options.steps_log)
    run = Run(options.seed)

    def hear(_signal, _frame):
        log.note("asked", run.step)
        if not options.ignore_requests:
            asked.append(time.time())

    signal.signal(signal.SIGUSR1, hear)

    (images, labels), test = load(options.data)
    if os.path.exists(options.save):
        run.resume(options.save)
        say(f"resumed from {options.save} at step {run.step}, epoch {run.step / STEPS_PER_EPOCH:.2f}")
        log.note("resumed", run.step)
    else:
        say("started")
        log.note("started", 0)
    save_at = "none" if options.ignore_requests else options.save_at
    epoch_s = options.step_s * STEPS_PER_EPOCH
    progress = {"epochs": options.epochs, "epoch_s": epoch_s, "save": save_at, "save_s": options.save_s}
    report(epoch=run.step / STEPS_PER_EPOCH, **progress)

    last = options.epochs * STEPS_PER_EPOCH
    while run.step < last:
        due = time.monotonic() + options.step_s
        loss = run.advance(images, labels)
        while (rest := due - time.monotonic()) > 0:
            time.sleep(rest)
        log.note("step", run.step)
        epoch_ends = run.step % STEPS_PER_EPOCH == 0
        if epoch_ends:
            epoch = run.step // STEPS_PER_EPOCH
            say(f"epoch {epoch}/{options.epochs} step {run.step} loss {loss:.4f} accuracy {run.model.accuracy(*test):.4f}")
            report(epoch=epoch, **progress)
        if asked and (options.save_at == "step" or epoch_ends):
            asked.clear()
            log.note("saving", run.step)
            time.sleep(options.save_s)
            run.save(options.save)
            say(f"saved at step {run.step}, epoch {run.step / STEPS_PER_EPOCH:.2f}")
            log.note("saved", run.step)
            report(saved=os.path.abspath(options.save))
            if options.after_save == "exit":
                return

    log.note("finished", run.step)
    say(f"finished: step {run.step}, accuracy {run.model.accuracy(*test):.4f}, weights {run.model.digest()}")


if __name__ == "__main__":
    sys.exit(main())
