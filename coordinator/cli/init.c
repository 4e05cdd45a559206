#include "coordinator/cli/planning.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/frontend/frontend.h"
#include "common/io/fd.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"

enum { BYTES_MAX = 4 << 20, NOTES_MAX_BYTES = 64 << 10, SHOWN_MAX_BYTES = 16 * NOTES_MAX_BYTES };

enum {
    INIT_SLURM = CLI_OWN,
    INIT_GCLOUD,
    INIT_EXTERNAL,
    INIT_OUTPUT,
    INIT_NAME,
    INIT_USER,
    INIT_MACHINE,
    INIT_TOPOLOGY,
    INIT_RECIPE
};

struct request {
    const char *set, *gcloud, *out, *ladder, *user, *name, *machine, *topology, *recipe, *share_dir;
    bool slurm, external;
    struct first_slice slice;
    struct arena arena;
    struct buf notes;
    struct err err;
};

/* ---- sources ---- */

static int take_set (struct request *request)
{
    const struct hostset_rules rules = { .max = HOSTS_MAX, .once = true };
    struct name_list names = { 0 };
    char *set = (char *) text_copy (&request->arena, text_of (request->set)).ptr;
    request->slice.set = text_of (set);
    while ((set = strpbrk (set, "\t\r\n"))) /* blanks between sets */
        *set = ' ';
    if (hostset_read (request->slice.set, &rules, &request->arena, &names, &request->err) != 0)
        return -1;
    request->slice.shape.hosts = names.n;
    return names.n ? 0
                   : err_set (&request->err, ERR_USAGE, "the host set is empty, expected hosts such as 'v6e-[0-3]'");
}

static int take_slurm (struct request *request)
{
    uint64_t job;
    LOCAL_BUF nodes = { .max = HOST_SOURCE_MAX_BYTES };
    int rc = host_source_read ("slurm", &nodes, &request->err);
    if (text_to_u64 (text_of (getenv ("SLURM_JOB_ID")), &job) && !request->name)
        request->slice.name = text_format (&request->arena, "slurm-%s", getenv ("SLURM_JOB_ID"));
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    struct name_list names = { 0 };
    if (rc == 0 && (rc = hostset_read (buf_as_text (&nodes), &rules, &request->arena, &names, &request->err)) == 0)
        buf_printf (&request->notes, "the hosts of this allocation: %s\n", buf_c (&nodes));
    request->slice.shape.hosts = names.n;
    return rc;
}

static void find_aliases (struct request *request)
{
    const char *home = planning_user_home ();
    struct text path = text_format (&request->arena, "%s/" GCLOUD_KNOWN_HOSTS, home ? home : "");
    LOCAL_BUF known = { .max = BYTES_MAX };
    if (host_input_read (path.ptr, &known, NULL) != 0)
        buf_clear (&known);
    if (request->slice.id.len)
        tpu_node_find_aliases (buf_as_text (&known), &request->arena, &request->slice, &request->notes);
    else
        buf_puts (&request->notes, "the node has no id: its host keys must be known under its addresses\n");
}

static int find_machine (struct request *request)
{
    struct first_slice *slice = &request->slice;
    if (conf_find_machine (request->share_dir, &slice->shape, &request->arena, &slice->machine, &request->err) != 0)
        return -1;
    if (!slice->machine.accelerator.len)
        buf_printf (
            &request->notes,
            "warning: '%.*s' is not in configs/machines/tpu.yaml, so nothing is known of its hosts: add a row for "
            "it (docs/spec/configuration.md, Machine types). The file gets the plain ladder\n",
            TEXT_ARG (slice->shape.accelerator));
    else if (!slice->machine.id.len)
        buf_printf (&request->notes,
                    "warning: no machine type of configs/machines/tpu.yaml has hosts of which %u make a slice of "
                    "%.*s%s%.*s: is a worker missing? The file gets the plain ladder\n",
                    slice->shape.hosts, TEXT_ARG (slice->shape.accelerator),
                    slice->shape.topology.len ? " with topology " : "", TEXT_ARG (slice->shape.topology));
    if (!slice->machine.id.len)
        slice->shape.topology.len = 0;
    else if (!slice->shape.topology.len)
        buf_puts (&request->notes, "the topology is not told: add topology: to the file, as the slice was created\n");
    if (slice->machine.id.len && !text_is (slice->machine.accelerator, "v6e"))
        buf_printf (&request->notes,
                    "no profile is shipped for %.*s: tpu-v6e fits, but look at the sizes in its args\n",
                    TEXT_ARG (slice->machine.accelerator));
    return 0;
}

static int take_gcloud (struct request *request)
{
    LOCAL_BUF json = { .max = BYTES_MAX };
    int rc = host_input_read (request->gcloud, &json, &request->err);
    if (rc == 0 && tpu_node_read (buf_as_text (&json), request->external, &request->arena, &request->slice,
                                  &request->notes, &request->err) != 0)
        rc = err_prefix (&request->err, "%s", request->gcloud);
    if (rc != 0 || find_machine (request) != 0)
        return -1;
    find_aliases (request);
    return 0;
}

/* ---- the file ---- */

static int init_take_name (struct request *request, const char *value, struct text *name)
{
    if (value && !host_name_valid (text_of (value)))
        return err_set (&request->err, ERR_USAGE, "'%s': expected a name of letters, digits, '.', '_' and '-'", value);
    *name = text_of (value);
    return 0;
}

/* What nobody but the user can say of hosts that are only named; sliceup check knows whether it is right. */
static int take_machine (struct request *request)
{
    struct first_slice *slice = &request->slice;
    if (!request->machine != !request->topology || (request->machine && request->gcloud))
        return err_set (&request->err, ERR_USAGE,
                        "expected --machine together with --topology, and neither with --gcloud, which tells both");
    if (!request->machine)
        return 0;
    return init_take_name (request, request->machine, &slice->machine.id) != 0 ||
                   init_take_name (request, request->topology, &slice->shape.topology) != 0
               ? -1
               : 0;
}

/* ---- recipes ---- */

/* 16 chips of two dimensions are 4x4, 32 are 4x8; of three 16 are 2x2x4: powers of two, no side more than twice another, the
 * smallest first. That is how Google's documentation draws slices of each size; others have to be said. */
static struct text usual_topology (uint32_t chips, uint32_t dimensions, struct arena *arena)
{
    uint32_t sides[3] = { 1, 1, 1 }, doubled = dimensions;
    for (; chips > 1 && chips % 2 == 0; chips /= 2) {
        doubled = doubled ? doubled - 1 : dimensions - 1;
        sides[doubled] *= 2;
    }
    return chips > 1         ? (struct text){ 0 }
           : dimensions == 2 ? text_format (arena, "%ux%u", sides[0], sides[1])
                             : text_format (arena, "%ux%ux%u", sides[0], sides[1], sides[2]);
}

/* "v6e-16": the machine whose hosts, as many as were given, make such a slice. */
static int take_shape (struct request *request, struct text family, struct text number)
{
    struct first_slice *slice = &request->slice;
    uint64_t n;
    if (!text_to_u64 (number, &n) || n == 0 || n > UINT32_MAX)
        return err_set (&request->err, ERR_USAGE, "--recipe %s: expected a size such as %.*s-16", request->recipe,
                        TEXT_ARG (family));
    slice->shape.accelerator = text_is (family, "v5e") ? TEXT_LIT ("v5litepod") : family; /* as gcloud calls it */
    slice->shape.number = (uint32_t) n;
    if (conf_find_machine (request->share_dir, &slice->shape, &request->arena, &slice->machine, &request->err) != 0)
        return -1;
    if (!slice->machine.id.len)
        return err_set (
            &request->err, ERR_USAGE,
            "--recipe %s: no machine type of configs/machines/tpu.yaml has hosts of which %u make such a slice",
            request->recipe, slice->shape.hosts);
    slice->shape.topology = slice->shape.hosts == 1 ? machine_host_topology (&slice->machine, &request->arena)
                                                    : usual_topology (slice->shape.hosts * slice->machine.chips,
                                                                      slice->machine.dimensions, &request->arena);
    return slice->shape.topology.len ? 0
                                     : err_set (&request->err, ERR_USAGE,
                                                "--recipe %s: a slice of so many chips has no usual topology; give "
                                                "--machine and --topology in place of a recipe",
                                                request->recipe);
}

/* A file of configs/recipes: the part of a slice file that says what runs, which is copied with its words. */
static int take_recipe (struct request *request)
{
    struct text family = text_of (request->recipe), whole = family;
    uint32_t dash;
    bool sized = text_find (family, TEXT_LIT ("-"), &dash);
    if (!request->recipe)
        return 0;
    if (request->gcloud || request->machine || request->ladder || !host_name_valid (whole))
        return err_set (
            &request->err, ERR_USAGE,
            "--recipe says what --gcloud, --machine, --topology and --ladder say: expected a name such as v6e-16, and "
            "none of them");
    if (sized)
        family.len = dash;
    struct text path = text_format (&request->arena, "%s/configs/recipes/%.*s.yaml", request->share_dir,
                                    TEXT_ARG (family));
    LOCAL_BUF words = { .max = BYTES_MAX };
    if (access (path.ptr, R_OK) != 0)
        return err_set (&request->err, ERR_USAGE,
                        "there is no recipe '%.*s': configs/recipes has a file for each, such as v6e "
                        "for v6e-16",
                        TEXT_ARG (family));
    if (host_input_read (path.ptr, &words, &request->err) < 0)
        return -1;
    request->slice.recipe = text_copy (&request->arena, buf_as_text (&words));
    return sized ? take_shape (request, family, (struct text){ whole.ptr + dash + 1, whole.len - dash - 1 }) : 0;
}

static int make_slice (struct request *request)
{
    if (init_take_name (request, request->ladder, &request->slice.ladder) != 0 ||
        init_take_name (request, request->user, &request->slice.user) != 0 ||
        init_take_name (request, request->name, &request->slice.name) != 0 || take_machine (request) != 0 ||
        (request->set     ? take_set (request)
         : request->slurm ? take_slurm (request)
                          : take_gcloud (request)) != 0 ||
        take_recipe (request) != 0)
        return -1;
    if (!request->slice.name.len)
        request->slice.name = TEXT_LIT ("slice");
    return 0;
}

static int init_write_file (const char *path, const struct buf *out, struct err *err)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_errno (err, ERR_USAGE, "-o: cannot make the file '%s'", path);
    bool failed = fd_write (fd, out->ptr, out->len) != 0;
    failed |= close (fd) != 0;
    if (!failed)
        return 0;
    err_errno (err, ERR_IO, "cannot write all of '%s'", path);
    (void) unlink (path); /* half a file helps nobody, and would be in the way */
    return -1;
}

static int write_slice (struct cli *cli, struct request *request)
{
    LOCAL_BUF out = { .max = BYTES_MAX };
    first_slice_write (&request->slice, &out);
    int status = request->out ? EXIT_HOLDS : cli_write_stdout (cli, &out);
    if (request->out && init_write_file (request->out, &out, &request->err) != 0)
        status = cli_fail (cli, &request->err);
    if (status == EXIT_HOLDS)
        log_print (&cli->log, "next: %ssliceup check %s", request->out ? "" : "keep this as FILE, then ",
                   request->out ? request->out : "FILE");
    return status;
}

static int init_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct request request = { .set = arguments->operands[0],
                               .gcloud = values[INIT_GCLOUD],
                               .out = values[INIT_OUTPUT],
                               .ladder = values[CLI_LADDER],
                               .user = values[INIT_USER],
                               .name = values[INIT_NAME],
                               .machine = values[INIT_MACHINE],
                               .topology = values[INIT_TOPOLOGY],
                               .recipe = values[INIT_RECIPE],
                               .share_dir = cli->share_dir,
                               .slurm = values[INIT_SLURM],
                               .external = values[INIT_EXTERNAL] };
    if (!request.set + !request.slurm + !request.gcloud != 2)
        err_set (&request.err, ERR_USAGE, "expected one of HOSTS, --slurm and --gcloud FILE; see sliceup init --help");
    buf_init (&request.notes, NOTES_MAX_BYTES);
    int rc = request.err.code ? -1 : make_slice (&request);
    struct text rest = buf_as_text (&request.notes), line;
    LOCAL_BUF shown = { .max = SHOWN_MAX_BYTES };
    for (; text_cut (&rest, '\n', &line); buf_byte (&shown, '\n'))
        buf_escaped (&shown, line, 0); /* they quote what the cloud and files say */
    fputs (buf_c (&shown), cli->log.to);
    int status = rc == 0 ? write_slice (cli, &request) : cli_fail (cli, &request.err);
    buf_release (&request.notes);
    arena_release (&request.arena);
    return status;
}

static const struct cli_option options[] = {
    { INIT_SLURM, "--slurm", .help = "the allocation in which this runs (SLURM_JOB_NODELIST)" },
    { INIT_GCLOUD, "--gcloud", .value = "FILE",
      .help = "what gcloud compute tpus tpu-vm describe --format=json printed; '-': standard input",
      .kind = KIND_FILE },
    { INIT_EXTERNAL, "--external", .help = "with --gcloud: ssh goes to the external addresses" },
    { INIT_OUTPUT, "--output", .also = "-o", .value = "FILE",
      .help = "write a new file; one that exists is not replaced", .kind = KIND_FILE },
    { INIT_NAME, "--name", .value = "NAME", .help = "the name of the slice" },
    { INIT_USER, "--user", .value = "NAME", .help = "the user on the hosts" },
    { INIT_MACHINE, "--machine", .value = "TYPE", .help = "of TPU hosts: ct6e-standard-4t. gcloud tells it itself" },
    { INIT_TOPOLOGY, "--topology", .value = "SHAPE", .help = "of TPU hosts: 4x4. gcloud tells it itself" },
    { INIT_RECIPE, "--recipe", .value = "NAME",
      .help = "of configs/recipes, with the size of a TPU slice: v6e-16, v5e-32, v5p-16, h100x8. Machine, topology, "
              "profile, pins and "
              "ladder follow" },
    { CLI_LADDER, "--ladder", .value = "NAME",
      .help = "of configs/ladders; profile and pins follow. Default: jax on a known TPU, else plain",
      .kind = KIND_LADDER },
    { 0 },
};

const struct cli_command init_command = {
    .name = "init",
    .task = TASK_FIRST,
    .usage = "HOSTS | --slurm | --gcloud FILE [OPTIONS]",
    .summary = "write the first slice file from the hosts you have",
    .help = "Prints a slice file that sliceup check accepts as it is, where the machine, topology and ladder that were "
            "given exist, and says on standard error what is not known. No host is asked and no command is run.\n"
            "\n"
            "HOSTS is a host set, reached over ssh: 'v6e-[0-3]', '10.0.0.[4-7]'; see sliceup hosts --help.",
    .examples = "sliceup init 'node-[0-3]' --user ubuntu > slice.yaml\n"
                "sliceup init 'v6e-[0-3]' --recipe v6e-16 -o v6e.yaml\n"
                "salloc --nodes=4 sliceup init --slurm --machine ct6e-standard-4t --topology 4x4 -o slice.yaml\n"
                "gcloud compute tpus tpu-vm describe v6e --zone=us-east5-b --format=json > v6e.json\n"
                "sliceup init --gcloud v6e.json -o v6e.yaml\n",
    .exit_status = "0 written; 2 usage, or input that is no single node; 3 the hosts are not there or cannot be read.",
    .operands = (const struct cli_operand[]){ { "HOSTS", 0, 1, .kind = KIND_TEXT }, { 0 } },
    .options = options,
    .run = init_run,
};

/* ---- first slice ---- */

/* Between quotes where YAML may take it for something else; nothing for an empty value. */
static void init_put (struct buf *out, const char *before, struct text value, const char *after)
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
    init_put (out, "hosts: ", slice->set, "  # in rank order\n");
    for (uint32_t i = 0; slice->hosts && i < slice->shape.hosts; i++) {
        const struct first_host *host = &slice->hosts[i];
        init_put (out, "  - {name: ", host->name, "");
        init_put (out, ", address: ", host->address, "");
        init_put (out, ", ssh: {address: ", host->ssh_address, host->host_key_alias.len ? "" : "}");
        init_put (out, host->ssh_address.len ? ", host_key_alias: " : ", ssh: {host_key_alias: ", host->host_key_alias,
                  "}");
        buf_puts (out, "}\n");
    }
}

static void put_ssh (const struct first_slice *slice, struct buf *out)
{
    bool some = slice->user.len || slice->hosts;
    buf_puts (out, some ? "ssh:\n" : "# ssh: {user: NAME}  # on the hosts; default: yours\n");
    init_put (out, "  user: ", slice->user, "\n");
    if (slice->hosts && !slice->user.len)
        buf_puts (out, "  # user: NAME  # on the hosts; default: yours. OS Login has names of its own\n");
    if (slice->hosts)
        buf_puts (out, "  identities: [~/.ssh/google_compute_engine]\n  known_hosts: ~/" GCLOUD_KNOWN_HOSTS "\n");
}

/* Nothing in the tpu-v6e profiles is of v6e alone: devices and topology follow from the machine. */
static void put_programs (const struct first_slice *slice, struct buf *out)
{
    bool tpu = slice->machine.id.len > 0;
    struct text usual = slice->ladder.len ? slice->ladder : tpu ? TEXT_LIT ("jax") : TEXT_LIT ("plain");
    const struct frontend *frontend = frontend_of_ladder (usual);
    frontend = frontend ? frontend : frontend_of_ladder (TEXT_LIT ("jax")); /* a ladder of one's own */
    if (frontend->tpu_profile) { /* the plain profile has devices of its own */
        init_put (out, "machine: ", slice->machine.id, "\n");
        init_put (out, "topology: ", slice->shape.topology, "\n");
    }
    if (!tpu)
        buf_puts (out, "# No TPU is known here. On one: its machine: and topology:, profile: tpu-v6e, pins: jax-tpu, "
                       "ladder: jax\n");
    buf_printf (out, "profile: %s\n", tpu && frontend->tpu_profile ? frontend->tpu_profile : frontend->cpu_profile);
    if (frontend->pins)
        buf_printf (out, "pins: %s-%s\n", frontend->pins, tpu ? "tpu" : "cpu");
    buf_puts (out,
              "cache: {mode: off}  # with a folder that all hosts share: {mode: single-writer, root: /the/folder}\n");
    init_put (out, "ladder: ", usual, "\n");
}

void first_slice_write (const struct first_slice *slice, struct buf *out)
{
    bool slurm = !slice->hosts && !slice->set.len;
    init_put (out, "# Written by sliceup init. Every key: docs/spec/configuration.md\nslice: ", slice->name, "\n");
    put_hosts (slice, slurm, out);
    if (slurm)
        buf_puts (out, "# slurm: {partition: NAME, account: NAME}\n");
    else
        put_ssh (slice, out);
    if (!slice->recipe.len)
        put_programs (slice, out);
    if (slice->recipe.len) {
        init_put (out, "machine: ", slice->machine.id, "\n");
        init_put (out, "topology: ", slice->shape.topology, "\n");
        buf_add_text (out, slice->recipe);
    }
}
