"""The step of training again and again for the rung's `hold`: what only a long run shows.

Adds: time. A step brings its batch to the devices, has each device compute its gradient (`own`: here this host's own part ends), and
averages it over all devices and moves the weights (`moved`). x: (parts, rows, width) bfloat16 and y float32, rows split over all devices;
weights and moments (layers, width, width) float32 on every device. After each round of steps the weights begin anew, so their last loss
has the same bits each time; hosts tell one another how they stand, and all leave in the same round. Judged: compilations, memory, how
long steps take, and whether this host is what the others wait for.
args: steps (16, of a round, at most 20), parts (2), batch (32 for each device), width (32), layers (3), slower (1.0: by how much, in parts,
the steps of the last third may be longer than those of the first; told by the hosts whose own part became longer with them, by all if no
host's did), behind (0.5: and the own part of this host than the others'; less than a fifth of a step holds up nobody).
"""

import statistics
import time

import sliceup_chain
import sliceup_hold
import sliceup_jax
import sliceup_jax_memory
import sliceup_step
from sliceup_canary import Failure

LOSS, WAY = 0.005, 0.03  # as in step.py
TOLD_S, LEAST_S, DEFAULT_S = 5.0, 0.002, 10.0
MIB = 1 << 20
UNKNOWN = [0.0] * 4


class Steps:
    """The two programs of a step, and the third by which hosts tell one another how they stand."""

    def __init__(self, session):
        jax, self.session = session.jax, session
        axes, args = tuple(session.canary.axes), session.canary.args
        self.steps = args.get("steps", 16)
        self.chain = sliceup_chain.Chain(session, args.get("layers", 3), 32)
        self.chain.x = self.chain.x.astype(jax.numpy.bfloat16)
        self.host = [part.reshape(args.get("parts", 2), -1, self.chain.width) for part in (self.chain.x, self.chain.y)]
        zeros = session.numpy.zeros(self.chain.weights.shape, "float32")
        self.first = [session.place(part) for part in (self.chain.weights, zeros, zeros, session.numpy.float32(0))]
        everywhere, spec = session.sharding(), jax.sharding.PartitionSpec

        def gradient(x, y, w):
            loss, slope = sliceup_step.slopes(jax, x, y, w)
            return loss[None], slope[None]

        def moved(loss, slope, w, m, v, count):
            return *sliceup_step.moved(jax.numpy, slope.mean(0), w, m, v, count), loss.mean()

        self.own = jax.jit(jax.shard_map(gradient, mesh=session.mesh, in_specs=(spec(None, axes),) * 2 + (spec(),),
                                         out_specs=(spec(axes),) * 2, check_vma=False))
        self.moved = jax.jit(moved, out_shardings=(everywhere,) * 5)
        self.told = jax.jit(lambda rows: rows * 1, out_shardings=everywhere)
        arrays = *self.batch(), self.first[0]
        slopes = [jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=session.sharding(axes)) for part in jax.eval_shape(self.own, *arrays)]
        for name, jitted, given in (("own", self.own, arrays), ("moved", self.moved, (*slopes, *self.first)), ("told", self.told, (self.row(UNKNOWN),))):
            sliceup_jax.Program(session, name, jitted, *given)

    def batch(self):
        return [self.session.place(part, None, tuple(self.session.canary.axes)) for part in self.host]

    def row(self, figures):
        session, figures = self.session, self.session.numpy.array([figures], "float32")
        return session.array((session.mesh.size, figures.size), "float32", session.sharding(tuple(session.canary.axes)), lambda index: figures)

    def exchanged(self, figures):
        """(hosts, figures) of all hosts."""
        whole = self.session.numpy.asarray(self.told(self.row(figures)).addressable_data(0))
        return whole[::self.session.canary.devices_per_host]

    def round(self, note):
        """The last loss of one round; note(seconds of this host's own part, seconds of the whole) after each step."""
        state = self.first
        for _ in range(self.steps):
            began = time.perf_counter()
            slopes = self.session.jax.block_until_ready(self.own(*self.batch(), state[0]))
            own = time.perf_counter() - began
            *state, loss = self.session.jax.block_until_ready(self.moved(*slopes, *state))
            self.session.canary.counted["executions"] += 2
            note(own, time.perf_counter() - began)
        self.last = state
        return self.session.scalar(loss)


class Held:
    """What is known of the hold so far."""

    def __init__(self, session, hold_s):
        self.session, self.hold_s, self.samples = session, hold_s, sliceup_hold.Samples(hold_s)
        self.number, self.losses, self.asked_at, self.tenth, self.told_s = 0, {}, 0, 0, -TOLD_S
        self.began = self.requests = self.grows = None

    def begin(self):
        """After the first round: all is compiled."""
        self.began, self.requests = time.monotonic(), self.session.canary.counted["compile_requests"]

    def at(self):
        return time.monotonic() - self.began

    def compiled(self):
        return self.session.canary.counted["compile_requests"] - self.requests

    def note(self, own, whole):
        """After a step. At most twice a second it is looked at as a whole."""
        self.number += 1
        if self.began is None:
            return
        if self.compiled() and not self.asked_at:
            self.asked_at = self.number
        if self.samples.due(self.at()):
            device = sum(sliceup_jax_memory.stats(each).get("bytes_in_use", 0) for each in self.session.jax.local_devices())
            self.samples.add(sliceup_hold.Sample(self.at(), sliceup_hold.resident_bytes(), device, own, whole))
            self.grows = self.samples.growth("resident") or self.samples.growth("device")
        self.show(whole)

    def show(self, whole):
        """A line for the log, now and then, and a phase for each tenth."""
        at = self.at()
        tenth = min(int(10 * at / self.hold_s), 9)
        if tenth > self.tenth:
            self.tenth = tenth
            self.session.canary.phase(f"held {10 * tenth} %")
        if at - self.told_s >= TOLD_S:
            self.told_s = at
            print(f"step {self.number}: {1000 * whole:.1f} ms, {sliceup_hold.resident_bytes() >> 20} MiB resident, "
                  f"{at:.0f} of {self.hold_s:.0f} s", flush=True)


def hold(steps, held):
    """Rounds until the time is over or a host has found what needs no more time to be told: then true. The first round compiles."""
    steps.round(held.note)
    steps.exchanged(UNKNOWN)
    held.begin()
    while True:
        loss = steps.round(held.note)
        held.losses[loss] = held.losses.get(loss, 0) + 1
        rows = steps.exchanged([held.at(), bool(held.asked_at or held.grows), 0.0, 0.0])
        if rows[:, 1].any() or rows[:, 0].max() >= held.hold_s:
            return bool(rows[:, 1].any())


def judge(session, steps, held, early):
    canary, samples, chain = session.canary, held.samples, steps.chain
    # Before anything can raise: the other hosts wait in this exchange.
    spans = sliceup_hold.Spans(steps.exchanged(samples.spans() or UNKNOWN).tolist(), canary.rank)
    if not early:
        canary.check("steps that were timed, 12 at least", 12, min(12, len(samples.whole)))
    right, weights = sliceup_step.reference(chain, steps.steps)
    first = next(iter(held.losses))
    canary.check("loss of the last step of a round", right[-1], first, LOSS * right[0])
    canary.check(f"rounds of {sum(held.losses.values())} whose last loss has other bits than the first", 0, sum(held.losses.values()) - held.losses[first])
    norm = session.numpy.linalg.norm
    off = max(float(norm(block - weights)) for block in session.blocks(steps.last[0])) / norm(weights - chain.weights)
    canary.check("error of the weights after a round, in parts of their way", 0, float(off), WAY)
    since = f", the first in step {held.asked_at}" if held.asked_at else ""
    canary.check(f"compile requests during steps {steps.steps + 1}..{held.number}{since}", 0, held.compiled())
    findings = [*memory(canary, samples), *times(canary, samples, spans)]
    canary.counted.update(steps=held.number, later_compilations=held.compiled())
    if findings:
        raise Failure(*findings[0])


def memory(canary, samples):
    """Owner and text of what grew."""
    for name, what in (("resident", "resident memory of this process"), ("device", "memory of the devices of this host")):
        first, last = ([getattr(sample, name) / MIB for sample in at] for at in (samples.whole[:1], samples.recent))
        rate = samples.growth(name) / MIB
        if last and last[-1]:
            canary.check(f"{what}: MiB a second by which it grows", 0, rate)
            canary.fact(f"soak.{name}_mib", f"{first[0]:.0f} to {last[-1]:.0f}")
        if rate:
            yield "program", (f"the {what} grows by {rate:.1f} MiB a second while the same step is repeated: "
                              f"{last[-1]:.0f} MiB after {samples.recent[-1].at:.0f} s")


def times(canary, samples, spans):
    """The same of a host for which the others wait, and of steps that became longer."""
    if not spans.known:
        return
    slower, own, others, late = canary.args.get("slower", 1.0), spans.own, spans.own_of_others(), samples.thirds("whole")[2]
    spread = statistics.median(abs(sample.whole - late) for sample in samples.whole[-(len(samples.whole) // 3):])
    canary.fact("soak.step_ms", f"{1000 * spans.early:.2f} to {1000 * spans.late:.2f}, spread {100 * spread / late:.0f} %")
    canary.counted.update(step_ms=max(1, round(1000 * late)), step_own_ms=max(1, round(1000 * own)))
    is_behind = own - others > max(LEAST_S, late / 5) and own > (1 + canary.args.get("behind", 0.5)) * others
    canary.check("ms of the own part of a step, where that is longer than the other hosts'", 0, 1000 * own * is_behind)
    if is_behind:
        yield "host", (f"this host's own part of a step takes {1000 * own:.1f} ms, that of the other hosts {1000 * others:.1f} ms: "
                       "they wait for it")
    owner, whose = spans.longer(slower)
    canary.check("step of the last third, in parts of one of the first, where this host has a part in it", 1,
                 max(1.0, spans.late / spans.early) if owner else 1.0, slower)
    if owner:
        yield owner, f"steps became longer: {1000 * spans.early:.1f} ms in the first third of the hold, {1000 * spans.late:.1f} ms in the last{whose}"


def body(session):
    steps = Steps(session)
    if session.compile_only:
        return
    held = Held(session, session.canary.hold_s or DEFAULT_S)
    early = hold(steps, held)
    try:
        judge(session, steps, held, early)
    except Failure as error:  # told and not raised: the others wait for this host at the end of the group
        session.canary.failure(error.owner, str(error))


sliceup_jax.run(body)
