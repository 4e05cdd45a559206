"""What tests/campaign/planted plants: for each rung of jax-train, faults as edits of a copy of its files, or of jax itself.

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
        ("attention that sees what comes", "sliceup_blocks.py", "numpy.where(seen, scores, -numpy.inf)", "scores"),
        ("products in bfloat16", "sliceup_transformer.py", 'numpy.dot(a, b, precision="highest")', "numpy.dot(a.astype('bfloat16'), b.astype('bfloat16')).astype('float32')"),
        ("a stale momentum", "sliceup_transformer.py", "KEPT * momentum[name] + slope", "slope"),
        ("the second training begins where the first ended", "model.py", "    counted[\"executions\"] += steps\n", "    counted[\"executions\"] += steps\n    globals()['ended'] = state\n",
         "session.canary.counted, 0, []\n", "session.canary.counted, 0, []\n    state = globals().get('ended', state)\n"),
        ("half of the batch is dropped", "sliceup_transformer.py", ".sum(-1).mean()", ".sum(-1)[:24].mean()"),
        ("the state lies split in another way after a step", "model.py", "lambda array: array.sharding, state)", "lambda array: session.sharding(), state)"),
    ],
}
