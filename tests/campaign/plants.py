"""What tests/campaign/planted plants: for each rung of jax-train and jax-soak, faults as edits of a copy of its files, or of jax itself.

A fault is (what it is, file or "jax", old text, new text); of jax, statements that are run before the rung's first line. An old text
that is not in the file any more is an error: a fault has to be planted to be found.
"""

LAYER = 'jax.numpy.tanh(jax.numpy.dot(x, w, precision="highest"))'
SHORT_LAYER = 'jax.numpy.tanh(x.astype("bfloat16") @ w.astype("bfloat16")).astype(x.dtype)'
BFLOAT16 = ("products in bfloat16", "sliceup_chain.py", LAYER, SHORT_LAYER)
REPLACED_PSUM = "import jax.numpy; psum = jax.lax.psum; jax.lax.psum = "

PLANTS = {
    "gradient": [
        ("no mean over the devices", "gradient.py", "jax.lax.pmean(slope, axes[0])[None]", "slope[None]"),
        ("a sum instead of the mean", "gradient.py", "jax.lax.pmean(slope, axes[0])[None]", "jax.lax.psum(slope, axes[0])[None]"),
        BFLOAT16,
        ("the last row of each device is left out", "gradient.py", "weights, x, y))(weights)", "weights, x[:-1], y[:-1]))(weights)"),
        ("a layer that passes no gradient", "sliceup_chain.py", LAYER, "(lambda out: out - jax.lax.stop_gradient(out) / 4 * 3 + out * 0)(" + LAYER + ")"),
    ],
    "step": [
        ("master weights kept in bfloat16", "sliceup_step.py", "return w - rate * (way + DECAY * w), m",
         "return (w - rate * (way + DECAY * w)).astype('bfloat16'), m"),
        ("master weights rounded to bfloat16", "sliceup_step.py", "return w - rate * (way + DECAY * w), m",
         "return __import__('jax').lax.reduce_precision(w - rate * (way + DECAY * w), 8, 7), m"),
        ("no weight decay", "sliceup_step.py", "(way + DECAY * w)", "way"),
        ("the rate never changes", "sliceup_step.py", "rate = RATE * numpy.minimum(count / RISING, 0.5 + 0.5 * numpy.cos(numpy.pi * count / FALLING))",
         "rate = RATE"),
        ("gradients added up in bfloat16", "sliceup_step.py", "total[1] + slope.astype(numpy.float32)",
         "(total[1].astype(slope.dtype) + slope).astype(numpy.float32)"),
        ("products in float32", "sliceup_step.py", "short = w.astype(numpy.bfloat16)", "short, x = w, x.astype(numpy.float32)"),
        ("the last step is a program of its own", "step.py", "*state, loss = jitted(*data, *state)",
         "*state, loss = (session.jax.jit(lambda *args: jitted(*args)) if number == steps - 1 else jitted)(*data, *state)"),
        ("every loss is read", "step.py", "losses.append(loss)", "losses.append(loss); print(float(loss), file=__import__('sys').stderr)"),
        ("the moments of the first step, again and again", "step.py", "*state, loss = jitted(*data, *state)",
         "*new, loss = jitted(*data, *state); state = [new[0], *state[1:3], new[3]]"),
    ],
    "donation": [
        ("nothing is donated", "donation.py", "donate_argnums=(0, 1), ", ""),
        ("one of two arrays is donated", "donation.py", "donate_argnums=(0, 1)", "donate_argnums=(0,)"),
        ("a donated array is executed with", "donation.py", "state = program(*old, *data)", "state = program(*old, *data); program(*old, *data)"),
        ("a stale momentum", "donation.py", "state = program(*old, *data)",
         "state = program(old[0], session.place(session.numpy.zeros(old[1].shape, 'float32'), *old[1].sharding.spec), *data)"),
        ("each step works on a copy", "donation.py", "old, before = state, ",
         "old, before = [session.jax.device_put(session.numpy.array(a), a.sharding) for a in state], "),
        BFLOAT16,
    ],
    "remat": [
        ("jax.checkpoint left out", "remat.py", "jax.checkpoint(group)", "group"),
        ("a policy that keeps everything", "remat.py", "jax.checkpoint(group)", "jax.checkpoint(group, policy=jax.checkpoint_policies.everything_saveable)"),
        ("the last layer of each group is not computed again", "remat.py", "jax.checkpoint(group))(weights, x, y)",
         "jax.checkpoint(lambda x, w: group(x, w[:-1])))(weights, x, y)"),
        ("the program with jax.checkpoint in bfloat16", "remat.py", "jax.checkpoint(group))(weights, x, y)",
         "jax.checkpoint(group))(weights.astype('bfloat16'), x.astype('bfloat16'), y).astype('float32')"),
    ],
    "attention": [
        ("a mask that sees one position more", "sliceup_forms.py", "seen = row >= column\n", "seen = row + 1 >= column\n"),
        ("scores that are not divided", "sliceup_blocks.py", 'precision="highest") / q.shape[3]**0.5', 'precision="highest")'),
        ("scores in bfloat16", "sliceup_blocks.py", 'numpy.einsum("bhqd,bhkd->bhqk", q, k, precision="highest")',
         'numpy.einsum("bhqd,bhkd->bhqk", q.astype("bfloat16"), k.astype("bfloat16")).astype(q.dtype)'),
        ("weights that pass no gradient", "sliceup_blocks.py", "scores, -numpy.inf), axis=-1)", "jax.lax.stop_gradient(scores), -numpy.inf), axis=-1)"),
        ("the second row of each device gets the first one's values", "attention.py", "return sliceup_blocks.attention(jax, q, k, v, form)",
         "return sliceup_blocks.attention(jax, q, k, v[:1].repeat(len(v), 0), form)"),
        ("kernels where the operations were asked for", "attention.py", 'if path == "reference":\n', 'if path == "none":\n',
         'path.endswith("-interpret"))\n\n    def', 'True)\n\n    def'),
    ],
    "flash": [
        ("the last block is not visited", "sliceup_forms.py", "if self.window else 0), rows + 1", "if self.window else 0), numpy.maximum(rows, 1)"),
        ("what was summed is not scaled down", "sliceup_flash.py", "numpy.exp(highest - new)", "numpy.exp(0 * highest)"),
        ("operations where kernels were asked for", "attention.py", 'if path == "reference":\n', 'if True:\n'),
        ("a backward pass of operations", "attention.py", "return sliceup_flash.attention(jax, q, k, v, form, path.endswith(\"-interpret\"))",
         "kernels = jax.custom_vjp(lambda *args: sliceup_flash.attention(jax, *args, form, path.endswith(\"-interpret\")))\n"
         "        kernels.defvjp(lambda *args: (kernels(*args), args), lambda args, slope: jax.vjp(lambda *args: sliceup_blocks.attention(jax, *args, form), *args)[1](slope))\n"
         "        return kernels(q, k, v)"),
        ("sums of another call", "sliceup_flash.py", "return out, (q, k, v, out, sums)", "return out, (q, k, v, out, sums[:, ::-1])"),
        ("the mean is not taken off the slope", "sliceup_flash_slopes.py", "(1,))) - mean)", "(1,))))"),
        ("keys miss the first block of queries", "sliceup_forms.py", "return columns, (numpy.minimum", "return 0 * columns + 1, (numpy.minimum"),
        ("weights rounded to bfloat16", "sliceup_flash.py", "self.product(weights, values,", "self.product(weights.astype('bfloat16').astype('float32'), values,"),
    ],
    "window": [
        ("a window of one position more", "sliceup_forms.py", "row - column < self.window)", "row - column <= self.window)"),
        ("a window of one position less", "sliceup_forms.py", "row - column < self.window)", "row - column < self.window - 1)"),
        ("no window", "sliceup_forms.py", "return seen & (row - column < self.window) if self.window else seen", "return seen"),
        ("blocks that begin one too late", "sliceup_forms.py", "numpy.maximum(0, rows * self.block - self.window + 1) // self.block",
         "numpy.maximum(0, rows * self.block - self.window + self.block) // self.block"),
        ("keys end one block of queries too early", "sliceup_forms.py", "last // self.block + 1)", "last // self.block)"),
    ],
    "grouped": [
        ("all heads read the first one's keys and values", "sliceup_flash.py", "(self.lax.div(h, group), 0, 0)", "(self.lax.div(h, 4) * 2, 0, 0)"),
        ("heads take turns at keys instead of sharing them in order", "sliceup_flash.py", "(self.lax.div(h, group), 0, 0)", "(self.lax.div(h, 4) * 2 + self.lax.rem(h, 2), 0, 0)"),
        ("gradients of the first head of each group alone", "sliceup_flash_slopes.py", "for head in range(kernels.form.group):", "for head in range(1):"),
        ("gradients of one head of each group, twice", "sliceup_flash_slopes.py", "q, slope = q_ref[head, at, :] / width**0.5, slope_ref[head, at, :]",
         "q, slope = q_ref[0, at, :] / width**0.5, slope_ref[head, at, :]"),
        ("keys in bfloat16", "sliceup_flash.py", "keys, values = k_ref[at_block(columns), :],", "keys, values = k_ref[at_block(columns), :].astype('bfloat16').astype('float32'),"),
    ],
    "softcap": [
        ("no cap", "sliceup_forms.py", "return self.cap * numpy.tanh(scores / self.cap) if self.cap else scores", "return scores"),
        ("not scaled back after the bend", "sliceup_forms.py", "return self.cap * numpy.tanh(scores / self.cap) if", "return numpy.tanh(scores / self.cap) if"),
        ("bent without the scale before", "sliceup_forms.py", "numpy.tanh(scores / self.cap)", "numpy.tanh(scores)"),
        ("cut instead of bent", "sliceup_forms.py", "self.cap * numpy.tanh(scores / self.cap)", "scores.clip(-self.cap, self.cap)"),
        ("gradients that do not know of the bend", "sliceup_flash_slopes.py", "return weights, by_score * (1 - (kernels.numpy.maximum(scores, -cap) / cap)**2) if cap else by_score",
         "return weights, by_score"),
        ("the mask bent as well", "sliceup_flash.py", "return self.numpy.where(self.form.near(row, column), scores, LOWEST)",
         "return self.form.capped(self.numpy, self.numpy.where(self.form.near(row, column), scores, LOWEST))"),
    ],
    "sparse": [
        ("every block is visited", "sliceup_forms.py", "(behind % self.stride == 0)", "(behind % 1 == 0)"),
        ("the first block is not visited", "sliceup_forms.py", " | (column < self.block))", ")"),
        ("lists that are one block short", "sliceup_forms.py", "[[len(numbers)], numbers,", "[[max(1, len(numbers) - 1)], numbers,"),
        ("the lists of the program before", "sliceup_flash.py", "numbers[own, at + 1]", "numbers[kernels.numpy.maximum(own, 1) - 1, at + 1]"),
        ("the lists of keys for queries and the other way round", "sliceup_forms.py", "for rows in (seen, seen.T)]", "for rows in (seen.T, seen)]"),
        ("no mask within blocks", "sliceup_flash.py", "self.numpy.where(self.form.near(row, column), scores, LOWEST)", "scores"),
    ],
    "fsdp": [
        ("no gather: each device repeats its own rows", "sliceup_ways.py", "jax.lax.all_gather(shard, self.axes, axis=0, tiled=True)",
         "jax.numpy.tile(shard, (jax.lax.axis_size(self.axes), 1))"),
        ("gathered in another order of the devices", "sliceup_ways.py", "jax.lax.all_gather(shard, self.axes,", "jax.lax.all_gather(shard, self.axes[::-1],"),
        ("gradients scattered and never divided", "sliceup_ways.py", "(slope / jax.lax.axis_size(self.axes),)", "(slope,)"),
        ("weights gathered in bfloat16", "sliceup_ways.py", "jax.lax.all_gather(shard, self.axes, axis=0, tiled=True)",
         "jax.lax.all_gather(shard.astype('bfloat16'), self.axes, axis=0, tiled=True).astype('float32')"),
        ("the loss is not reduced", "jax", REPLACED_PSUM + "lambda x, axes, **more: x if x.shape == (3,) else psum(x, axes, **more)", ""),
    ],
    "tensor": [
        ("no sum of the partial products", "sliceup_ways.py", "jax.lax.psum(part, self.last)", "part"),
        ("summed over the other axis", "sliceup_ways.py", "jax.lax.psum(part, self.last)", "jax.lax.psum(part, self.rows)"),
        ("gradients without a mean over the batch's axis", "sliceup_ways.py", "slopes = jax.lax.pmean(slopes, self.rows)", "pass"),
        ("every device counts the whole loss", "sliceup_ways.py", "return value / jax.lax.axis_size(self.last)", "return value"),
        BFLOAT16,
    ],
    "sequence": [
        ("keys and values stay where they are", "ring.py", "k, v = (lax.ppermute(part, axes, onwards) for part in (k, v))", "pass"),
        ("they go the other way round", "ring.py", "(number, (number + 1) % devices)", "((number + 1) % devices, number)"),
        ("keys go on, values stay", "ring.py", "k, v = (lax.ppermute(part, axes, onwards) for part in (k, v))", "k = lax.ppermute(k, axes, onwards)"),
        ("the mask knows no other device", "ring.py", "(here - turn) % devices * length", "here * length"),
        ("one turn too few", "ring.py", "numpy.arange(devices))", "numpy.arange(devices - 1))"),
        ("scores in bfloat16", "ring.py", 'scores = numpy.einsum("bhqd,bhkd->bhqk", q, k, precision="highest")',
         'scores = numpy.einsum("bhqd,bhkd->bhqk", q.astype("bfloat16"), k.astype("bfloat16")).astype(q.dtype)'),
    ],
    "pipeline": [
        ("nothing is passed on", "sliceup_ways.py", "jax.lax.ppermute(out, self.axes, onwards)", "out"),
        ("two stages in the wrong order", "sliceup_ways.py", "onwards = [(number, number + 1) for number in range(stages - 1)]",
         "onwards = [(0, 2), (2, 1), (1, 3), *((number, number + 1) for number in range(3, stages - 1))]"),
        ("the last stage is read one tick too early", "sliceup_ways.py", "outs[stages - 1:]", "outs[stages - 2:-1]"),
        ("what is passed on is rounded to bfloat16", "sliceup_ways.py", "jax.lax.ppermute(out, self.axes, onwards)",
         "jax.lax.ppermute(out.astype('bfloat16'), self.axes, onwards).astype(out.dtype)"),
        ("the first part of the batch, again and again", "sliceup_ways.py", "parts[jax.numpy.minimum(now, stages - 1)]", "parts[0]"),
    ],
    "experts": [
        ("tokens do not leave their device", "sliceup_blocks.py", "here = jax.lax.all_to_all(sent, axes, 0, 0)", "here = sent"),
        ("what comes back is swapped", "sliceup_blocks.py", "back = jax.lax.all_to_all(done, axes, 0, 0)", "back = jax.lax.all_to_all(done[::-1], axes, 0, 0)"),
        ("devices in another order of the axes", "sliceup_blocks.py", "here = jax.lax.all_to_all(sent, axes, 0, 0)", "here = jax.lax.all_to_all(sent, axes[::-1], 0, 0)"),
        ("over one axis and not the other", "sliceup_blocks.py", "here = jax.lax.all_to_all(sent, axes, 0, 0)",
         "here = jax.lax.all_to_all(sent.reshape(2, 4, *sent.shape[1:]), axes[-1], 1, 1).reshape(sent.shape)"),
        ("room for one token more", "experts.py", "(jax, *args, axes, capacity)", "(jax, *args, axes, capacity + 1)"),
        ("tokens over the capacity take the last place", "sliceup_blocks.py", "jax.nn.one_hot(place.astype(int), capacity)", "jax.nn.one_hot(place.astype(int).clip(0, capacity - 1), capacity)"),
        ("dropped tokens come out as they came in", "sliceup_blocks.py", "back, precision=\"highest\") * share[:, None], slots.sum()",
         "back, precision=\"highest\") * share[:, None] + x * (1 - slots.sum((1, 2)))[:, None], slots.sum()"),
        ("the router gets no gradient", "sliceup_blocks.py", "share = (jax.nn.softmax(logits, axis=-1)", "share = (jax.nn.softmax(jax.lax.stop_gradient(logits), axis=-1)"),
        ("tokens are sent in bfloat16", "sliceup_blocks.py", "here = jax.lax.all_to_all(sent, axes, 0, 0)", "here = jax.lax.all_to_all(sent.astype('bfloat16'), axes, 0, 0).astype(sent.dtype)"),
        ("two experts have each other's weights", "experts.py", "x[0], logits[0], w1[0], w2[0], has_aux", "x[0], logits[0], *(jax.lax.ppermute(w[0], axes, [(0, 1), (1, 0), *((n, n) for n in range(2, 8))]) for w in (w1, w2)), has_aux"),
        ("a stale gradient of what comes out", "experts.py", "backward(slope[0])", "backward(out)"),
        ("kept counts what was sent", "sliceup_blocks.py", "share[:, None], slots.sum()", "share[:, None], chosen.sum()"),
    ],
    "reshard": [
        ("rows in another order of the axes", "reshard.py", '"swapped": ((axes[::-1], None)', '"swapped": ((axes, None)'),
        ("whole on every device", "reshard.py", '"columns": ((None, axes)', '"columns": ((None, None)'),
        ("numbers rounded to bfloat16", "reshard.py", "            return x\n", "            return x.astype('bfloat16').astype('float32')\n"),
        ("the shard of one device is lost", "reshard.py", "            return x\n", "            return x.at[-8:].set(0)\n"),
    ],
    "random": [
        ("a stream that depends on the layout (jax_threefry_partitionable off)", "jax", "import jax; jax.config.update('jax_threefry_partitionable', False)", ""),
        ("rows and columns from two keys", "bits.py", "jax.random.wrap_key_data(key,", "jax.random.wrap_key_data(key + (name == 'columns'),"),
        ("each half of the rows from the same counters", "bits.py", '(rows, columns), "uint32")',
         '(rows // 2, columns), "uint32").reshape(1, -1, columns).repeat(2, 0).reshape(rows, columns)'),
        ("words of 16 bits", "bits.py", '(rows, columns), "uint32")', '(rows, columns), "uint16").astype("uint32")'),
    ],
    "evaluate": [
        ("padding counts as rows", "evaluate.py", "mask.sum()]", "mask.sum() * 0 + mask.size]"),
        ("padding counts in the loss", "evaluate.py", "jax.numpy.where(mask > 0, of_row, 0.0).sum()", "of_row.sum()"),
        ("a mean of means", "evaluate.py", "astype(full), counted[1]", "astype(full), counted[1] * 0 + 1"),
        ("the last batch is left out", "evaluate.py", "in enumerate(batches)", "in enumerate(batches[:-1])"),
        ("the last batch is not padded", "evaluate.py", "return rows, [", "x, y, there = (part[:-8] for part in (x, y, there)); parts = [part[:-8] for part in parts]; return rows, ["),
        ("products in float32", "evaluate.py", "x.astype(session.jax.numpy.bfloat16), y,", "x, y,",
         "chain.weights.astype(session.jax.numpy.bfloat16)", "chain.weights"),
        ("the sum in bfloat16 never leaves the device", "sliceup_jax.py", "total, seen = jax.lax.psum(((local * weight).astype(metric.dtype), others), metric.axes)",
         "total, seen = (local * weight).astype(metric.dtype), jax.lax.psum(others, metric.axes)"),
    ],
    "model": [
        ("attention that sees what comes", "sliceup_blocks.py", "numpy.where(form.seen(at[:, None], at), scores, -numpy.inf)", "scores"),
        ("products in bfloat16", "sliceup_transformer.py", 'numpy.dot(a, b, precision="highest")', "numpy.dot(a.astype('bfloat16'), b.astype('bfloat16')).astype('float32')"),
        ("a stale momentum", "sliceup_transformer.py", "KEPT * momentum[name] + slope", "slope"),
        ("the second training begins where the first ended", "model.py", "    counted[\"executions\"] += steps\n", "    counted[\"executions\"] += steps\n    globals()['ended'] = state\n",
         "session.canary.counted, 0, []\n", "session.canary.counted, 0, []\n    state = globals().get('ended', state)\n"),
        ("half of the batch is dropped", "sliceup_transformer.py", ".sum(-1).mean()", ".sum(-1)[:24].mean()"),
        ("the state lies split in another way after a step", "model.py", "lambda array: array.sharding, state)", "lambda array: session.sharding(), state)"),
    ],
}

# jax-soak. What needs several hosts, such as one that is slow, is planted by tests/integration/test_soak.py.
OWN_PART = "            own = time.perf_counter() - began\n"
TAKEN = 'pages[at:at + step] = b"\\xa5" * step'
WRITTEN = "    took = time.monotonic() - began\n"
LARGEST = "max((path / 'state').rglob('*'), key=lambda file: file.is_file() and file.stat().st_size)"
PLACED = "lambda index, value=value: value[index]"


def at_step(number, statement):
    return f"            globals()['count'] = globals().get('count', 0) + 1\n            if globals()['count'] == {number}:\n                {statement}\n"


PLANTS.update({
    "memory": [
        ("a loader that touches none of its pages", "memory.py", TAKEN, "pass"),
        ("a loader whose pages are given back", "memory.py", 'return "kept"', 'pages.madvise(mmap.MADV_DONTNEED); return "kept"'),
        ("1 GiB more than there is", "memory.py", 'args.get("loader_mib", 256) * MIB', "(sliceup_memory.least_room().bytes + GIB) // 2"),
        ("the same, all of it premapped", "memory.py", 'args["premapped_mib"] * MIB if', 'sliceup_memory.least_room().bytes + GIB if'),
        ("less than was there when it was looked at", "memory.py", "        room = sliceup_memory.least_room()\n",
         "        room = sliceup_memory.Room(GIB // 8 if at else GIB, 'the machine')\n"),
        ("a kernel that refuses the pages", "memory.py", "mmap.mmap(-1, max(size, 1))", "mmap.mmap(-1, 1 << 60)"),
        ("a loader that is killed", "memory.py", "os.write(write, take(size).encode())", "os.kill(os.getpid(), 9)"),
    ],
    "checkpoint-write": [
        ("its last step, the renaming, did not come", "checkpoint_write.py", WRITTEN,
         WRITTEN + "    (path / 'state').rename(path / 'state.orbax-checkpoint-tmp')\n"),
        ("a folder that cannot be written", "sliceup_saved.py", "path.mkdir(parents=True, exist_ok=True)", "path.parent.joinpath('file').touch(); (path.parent / 'file' / 'x').mkdir()"),
        ("an environment without orbax", "jax", "import sys; sys.modules['orbax.checkpoint'] = None", ""),
    ],
    "checkpoint-read": [
        ("an array's file is truncated", "checkpoint_write.py", WRITTEN, WRITTEN + f"    __import__('os').truncate({LARGEST}, 1000)\n"),
        ("an array's file is missing", "checkpoint_write.py", WRITTEN, WRITTEN + f"    {LARGEST}.unlink()\n"),
        ("never committed", "checkpoint_write.py", WRITTEN, WRITTEN + "    (path / 'state').rename(path / 'state.orbax-checkpoint-tmp')\n"),
        ("one bit is changed on the disk", "checkpoint_write.py", WRITTEN,
         WRITTEN + f"    file = {LARGEST}; content = bytearray(file.read_bytes()); content[len(content) // 2] ^= 1; file.write_bytes(content)\n"),
        ("shards of two devices are swapped", "checkpoint_write.py", PLACED,
         "lambda index, value=value: session.numpy.roll(value, value.shape[-1] // 2, -1)[index] if value.ndim == 3 else value[index]"),
        ("written in bfloat16", "checkpoint_write.py", PLACED, "lambda index, value=value: value[index].astype('bfloat16').astype(value.dtype)"),
        ("a reader that takes what it can of a torn one", "checkpoint_read.py", "        read = reader.restore(path, args=ocp.args.PyTreeRestore(restore_args=wanted))\n",
         "        try:\n            read = reader.restore(path, args=ocp.args.PyTreeRestore(restore_args=wanted))\n        except Exception:\n            read = state.values\n"),
    ],
    "soak": [
        ("10 MiB a second are kept", "soak.py", OWN_PART, OWN_PART + "            globals().setdefault('kept', []).append(b'\\xa5' * int((time.perf_counter() - began) * 10 * MIB * 2))\n"),
        ("a compilation at step 400", "soak.py", OWN_PART, OWN_PART + at_step(400, "self.session.jax.jit(lambda x: x + 1)(state[0])")),
        ("another shape at step 400", "soak.py", OWN_PART, OWN_PART + at_step(400, "self.own(*(part[:1] for part in self.batch()), state[0])")),
        ("each step sleeps longer than the one before", "soak.py", OWN_PART,
         OWN_PART + "            time.sleep(0.05 * (began - globals().setdefault('start', began)))\n"),
        ("one bit of the weights flips at step 300", "soak.py", OWN_PART,
         OWN_PART + at_step(300, "bits = self.chain.weights.copy(); bits.view('uint32')[0, 0, 0] ^= 1 << 20; state[0] = self.session.place(bits)")),
        ("a round that begins where the one before ended", "soak.py", "        self.last = state\n", "        self.last = self.first = state\n"),
        ("no weight decay", "sliceup_step.py", "(way + DECAY * w)", "way"),
        ("the gradient of one device stands for all", "soak.py", "slope.mean(0)", "slope[0]"),
    ],
})
