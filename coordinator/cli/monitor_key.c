#include "coordinator/monitor/key_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/address.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"

enum { NAME_BYTES = 32 };
enum { KEY_NAME = CLI_OWN, KEY_ADDRESS };

/* The shell made the file, by its own umask; what it would hold is secret. */
static int close_to_others (struct err *err)
{
    struct stat at;
    if (fstat (STDOUT_FILENO, &at) != 0 || !S_ISREG (at.st_mode) || !(at.st_mode & 077))
        return 0;
    if (fchmod (STDOUT_FILENO, 0600) == 0)
        return 0;
    return err_errno (err, ERR_IO,
                      "other users could read the file on standard output, and its mode cannot be changed to 0600");
}

static int require_live (const struct run_dir *dir, struct err *err)
{
    int64_t pid;
    int held = journal_is_locked (RUN_PATH (dir, "journal.db"), &pid, err);
    if (held != 0)
        return held < 0 ? -1 : 0;
    return err_set (err, ERR_STATE,
                    "no coordinator holds run %.8s, so other machines cannot watch it; sliceup status shows its state",
                    dir->id);
}

/* One of its own for each monitor: the first name that is free. */
static int make_named (struct monitor_key *key, const struct run_dir *dir, const char *address, struct err *err)
{
    enum { TRIES = 100 };
    char name[NAME_BYTES];
    for (int i = 1; i < TRIES; i++) {
        snprintf (name, sizeof name, "monitor-%d", i);
        if (monitor_key_make (key, dir, name, address, err) == 0)
            return 0;
        if (err->code != ERR_STATE)
            return -1;
    }
    return -1;
}

static int make (struct cli *cli, const struct run_dir *dir, const char *name, const char *address)
{
    struct monitor_key key;
    struct err err = { 0 };
    if (require_live (dir, &err) < 0 || close_to_others (&err) < 0)
        return cli_fail (cli, &err);
    if ((name ? monitor_key_make (&key, dir, name, address, &err) : make_named (&key, dir, address, &err)) < 0)
        return cli_fail (cli, &err);
    if (!address && (strncmp (key.address, "127.", 4) == 0 || strcmp (key.address, "::1") == 0))
        log_print (&cli->log, "this run listens only on %s, which other machines cannot reach", key.address);
    LOCAL_BUF out = { .max = MONITOR_KEY_FILE_MAX_BYTES };
    monitor_key_format (&key, &out);
    fwrite (out.ptr, 1, out.len, stdout); /* whether it was written is asked at the end of every command */
    explicit_bzero (&key, sizeof key);
    explicit_bzero (out.ptr, out.len);
    return EXIT_HOLDS;
}

static int monitor_key_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *address = arguments->values[KEY_ADDRESS];
    struct run_dir dir;
    struct err err = { 0 };
    if (address && (!address_is_good (text_of (address)) || address_is_any (text_of (address)))) {
        err_set (&err, ERR_USAGE, "--address %s: expected a host name or an IP address, without a port", address);
        return cli_fail (cli, &err);
    }
    if (run_begun_find_checked (&dir, cli->home, run ? run : "last", &err) < 0)
        return cli_fail (cli, &err);
    return make (cli, &dir, arguments->values[KEY_NAME], address);
}

static const struct cli_option options[] = {
    { KEY_NAME, "--name", .value = "NAME", .help = "its name (default: monitor-1, monitor-2, ...)" },
    { KEY_ADDRESS, "--address", .value = "ADDR",
      .help = "address by which the other machine reaches this one (default: coordinator.address of the slice, else "
              "the address on which the run listens)" },
    { 0 },
};

const struct cli_command monitor_key_command = {
    .name = "monitor-key",
    .task = TASK_LOOK,
    .usage = "[RUN] [OPTIONS] > FILE",
    .summary = "print a key with which another machine may watch a run, but not control it",
    .help =
        "Prints a key file: the address of the coordinator, its public key, and a key pair for this monitor only. It "
        "is a CURVE certificate, which programs with czmq or pyzmq load as well. The running coordinator admits it at "
        "once. Copy the file to the other machine (it is secret and needs mode 0600 there) and use it with sliceup "
        "watch --key FILE or sliceup status --key FILE, which show everything from the beginning of the run. A monitor "
        "can only read. The key is valid until the run ends; a run can have at most 64.\n\n" HELP_OF_RUN,
    .examples = "sliceup monitor-key last --name wall > wall.key\n"
                "scp wall.key screen: && ssh screen sliceup watch --key wall.key\n",
    .exit_status =
        "0 printed; 2 no such run, a bad name or address; 3 no coordinator holds the run, or the name is taken.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = monitor_key_run,
};
