#include "coordinator/cli/init.h"

#include <string.h>

/* Between quotes where YAML may take it for something else; nothing for an empty value. */
static void put (struct buf *out, const char *before, struct text value, const char *after)
{
    bool quoted = text_is (value, "null");
    for (uint32_t i = 0; i < value.len; i++)
        quoted |= strchr (":+[],!&^@ ", value.ptr[i]) != NULL;
    if (value.len)
        buf_printf (out, "%s%s%.*s%s%s", before, quoted ? "'" : "", TEXT_ARG (value), quoted ? "'" : "", after);
}

static void put_hosts (const struct first_slice *slice, bool slurm, struct buf *out)
{
    buf_printf (out, "launcher: %s\n%s", slurm ? "slurm" : "ssh",
                slurm          ? "hosts: {from: slurm}  # those of the allocation in which sliceup runs\n"
                : slice->hosts ? "hosts:  # in rank order; address: by which the other hosts reach it\n"
                               : "");
    put (out, "hosts: ", slice->set, "  # in rank order\n");
    for (uint32_t i = 0; slice->hosts && i < slice->shape.hosts; i++) {
        const struct first_host *host = &slice->hosts[i];
        put (out, "  - {name: ", host->name, "");
        put (out, ", address: ", host->address, "");
        put (out, ", ssh: {address: ", host->ssh_address, host->host_key_alias.len ? "" : "}");
        put (out, host->ssh_address.len ? ", host_key_alias: " : ", ssh: {host_key_alias: ", host->host_key_alias, "}");
        buf_puts (out, "}\n");
    }
}

static void put_ssh (const struct first_slice *slice, struct buf *out)
{
    bool some = slice->user.len || slice->hosts;
    buf_puts (out, some ? "ssh:\n" : "# ssh: {user: NAME}  # on the hosts; default: yours\n");
    put (out, "  user: ", slice->user, "\n");
    if (slice->hosts && !slice->user.len)
        buf_puts (out, "  # user: NAME  # on the hosts; default: yours. OS Login has names of its own\n");
    if (slice->hosts)
        buf_puts (out, "  identities: [~/.ssh/google_compute_engine]\n  known_hosts: ~/" GCLOUD_KNOWN_HOSTS "\n");
}

/* Nothing in the tpu-v6e profiles is of v6e alone: devices and topology follow from the machine. */
static void put_programs (const struct first_slice *slice, struct buf *out)
{
    bool tpu = slice->machine.id.len > 0, torch = text_starts (slice->ladder, "torch-xla"),
         plain = text_starts (slice->ladder, "plain") || (!tpu && !slice->ladder.len);
    if (!plain) { /* the plain profile has devices of its own */
        put (out, "machine: ", slice->machine.id, "\n");
        put (out, "topology: ", slice->shape.topology, "\n");
    }
    if (!tpu)
        buf_puts (out, "# No TPU is known here. On one: its machine: and topology:, profile: tpu-v6e, pins: jax-tpu, "
                       "ladder: jax\n");
    buf_printf (out, "profile: %s\n",
                plain   ? "plain"
                : tpu   ? (torch ? "tpu-v6e-torch-xla" : "tpu-v6e")
                : torch ? "cpu-torch-xla"
                        : "cpu-jax");
    if (!plain)
        buf_printf (out, "pins: %s-%s\n", torch ? "torch-xla" : "jax", tpu ? "tpu" : "cpu");
    buf_puts (out,
              "cache: {mode: off}  # with a folder that all hosts share: {mode: single-writer, root: /the/folder}\n");
    put (out, "ladder: ", slice->ladder.len ? slice->ladder : text_of (plain ? "plain" : "jax"), "\n");
}

void first_slice_write (const struct first_slice *slice, struct buf *out)
{
    bool slurm = !slice->hosts && !slice->set.len;
    put (out, "# Written by sliceup init. Every key: docs/spec/configuration.md\nslice: ", slice->name, "\n");
    put_hosts (slice, slurm, out);
    if (slurm)
        buf_puts (out, "# slurm: {partition: NAME, account: NAME}\n");
    else
        put_ssh (slice, out);
    put_programs (slice, out);
}
