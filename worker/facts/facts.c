#include "common/base/duration.h"
#include "common/io/clock.h"
#include "worker/facts/host_fact_list.h"
#include "worker/protocol/protocol_writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_SOURCE "host-facts"
#define LIBTPU_VARIABLE "TPU_LIBRARY_PATH"

enum { EXIT_SAID = 0, EXIT_NOT_SAID = 1, EXIT_WRONG_USAGE = 2 };
/* Shares of FACT_LIST_MAX and of a result's bytes; each list has one more fact, the number left out. */
enum { ENV_FACTS_MAX = 64, PROFILE_FACTS_MAX = 48, VARIABLE_BYTES = 20 * 1024 };

struct reporting {
    struct protocol_writer *writer;
    struct host_fact_list list;
    uint32_t said;                         /* of the list */
    var_list profile, packages, inherited; /* of the last two the names */
};

/* Where environments are built. */
static const char *home_folder (const struct protocol_writer *writer)
{
    const char *env_dir = protocol_writer_arg (writer, "env_dir"), *home = getenv ("HOME");
    return env_dir && env_dir[0] == '/' ? env_dir : home && home[0] == '/' ? home : "/";
}

/* Sends the facts so far before slow steps, which may hang. */
static void say_new (struct reporting *reporting)
{
    const struct host_fact_list *list = &reporting->list;
    for (; reporting->said < list->n; reporting->said++)
        protocol_writer_fact (reporting->writer, list->items[reporting->said].name.ptr,
                              list->items[reporting->said].value);
}

static void say_note_of (struct reporting *reporting, struct text note, const char *source)
{
    if (note.len)
        protocol_writer_note (reporting->writer, note, source, DURABILITY_RECHECK);
}

static void say_note (struct reporting *reporting, struct text note)
{
    say_note_of (reporting, note, NOTE_SOURCE);
}

/* ---- notes ---- */

static void say_uptime (struct reporting *reporting)
{
    char up[DURATION_TEXT_BYTES];
    say_note (reporting, text_format (&reporting->list.arena, "up for %s", duration_print (clock_boot_ms (), up)));
}

/* Each file system once. The rung fails where the worker's own is full, so that is no warning; a small /tmp is usual. */
static void say_rooms (struct reporting *reporting, const struct disk_room rooms[DISK_FOLDERS])
{
    for (uint32_t i = 0; i < DISK_FOLDERS; i++) {
        uint32_t first = 0;
        while (first < i && rooms[first].file_system != rooms[i].file_system)
            first++;
        enum disk_level warned = i == DISK_TMP ? DISK_FULL : DISK_NEARLY_FULL;
        if (first == i && !(i == DISK_START_DIR && rooms[i].level == DISK_FULL))
            say_note_of (reporting, rooms[i].sentence, rooms[i].level <= warned ? NOTE_WARNING : NOTE_SOURCE);
    }
}

/* Its worker measured it at the join. */
static void say_clock (struct reporting *reporting)
{
    const char *offset = protocol_writer_arg (reporting->writer, "clock_offset_ms"),
               *error = protocol_writer_arg (reporting->writer, "clock_error_ms");
    char off[OFFSET_TEXT_BYTES];
    host_fact_add (&reporting->list, "clock.offset_ms", text_of (offset ? offset : FACT_NOT_REPORTED));
    host_fact_add (&reporting->list, "clock.offset_error_ms", text_of (error ? error : FACT_NOT_REPORTED));
    if (offset && error && llabs (strtoll (offset, NULL, 10)) >= CLOCK_OFF_MS)
        say_note_of (
            reporting,
            text_format (
                &reporting->list.arena,
                "its clock is %s, give or take %s ms, against the coordinator's: see chronyc tracking or timedatectl "
                "there; where most hosts say so, the coordinator's clock may be the wrong one",
                offset_print (strtoll (offset, NULL, 10), off), error),
            NOTE_WARNING);
}

/* ---- variables ---- */

static var_list environment (struct arena *arena)
{
    uint32_t n = 0;
    while (environ[n])
        n++;
    var_list vars = { arena_array (arena, n, sizeof *vars.items), 0 };
    for (char **entry = environ; *entry; entry++) {
        const char *equals = strchr (*entry, '=');
        if (equals)
            vars.items[vars.n++] = (struct var){ { *entry, (uint32_t) (equals - *entry) }, text_of (equals + 1) };
    }
    return vars;
}

static void add_variables (struct reporting *reporting)
{
    size_t left_bytes = VARIABLE_BYTES;
    var_list own = environment (&reporting->list.arena);
    variable_add_facts (&reporting->list, "profile", &reporting->profile, NULL, PROFILE_FACTS_MAX, &left_bytes);
    variable_add_facts (&reporting->list, "env", &own, &reporting->inherited, ENV_FACTS_MAX, &left_bytes);
}

/* Path of the libtpu that programs load; empty if no profile sets it. */
static const char *libtpu_path (const struct reporting *reporting)
{
    for (uint32_t i = 0; i < reporting->profile.n; i++)
        if (text_is (reporting->profile.items[i].name, LIBTPU_VARIABLE) && reporting->profile.items[i].value.len)
            return reporting->profile.items[i].value.ptr;
    const char *own = getenv (LIBTPU_VARIABLE);
    return own && *own ? own : NULL;
}

/* ---- in order ---- */

/* Is a metadata server expected? Otherwise the network is not asked. */
static bool is_google (struct host_fact_list *list)
{
    struct text product;
    return (host_fact_read_file (list, list->roots->sys, "/class/dmi/id/product_name", &product) &&
            text_starts (product, "Google")) ||
           text_find (host_fact_find (list, "pci.google"), TEXT_LIT (" x 0x"), NULL);
}

static void say_machine (struct reporting *reporting)
{
    protocol_writer_phase (reporting->writer, "machine");
    machine_facts (&reporting->list);
    say_clock (reporting);
    container_facts (&reporting->list);
    memory_facts (&reporting->list);
    package_facts (&reporting->list, &reporting->packages);
    add_variables (reporting);
    say_new (reporting);
}

static void say_places (struct reporting *reporting)
{
    protocol_writer_phase (reporting->writer, "libraries");
    library_facts (&reporting->list, libtpu_path (reporting));
    say_new (reporting);
    protocol_writer_phase (reporting->writer, "mounts");
    const char *paths[DISK_FOLDERS] = { [DISK_START_DIR] = protocol_writer_arg (reporting->writer, "start_dir"),
                                        [DISK_ENV_DIR] = home_folder (reporting->writer),
                                        [DISK_CACHE_DIR] = protocol_writer_arg (reporting->writer, "cache_root"),
                                        [DISK_TMP] = reporting->list.roots->tmp };
    struct disk_room rooms[DISK_FOLDERS];
    mount_facts (&reporting->list, paths, rooms);
    say_new (reporting);
    say_rooms (reporting, rooms);
}

static void say_all (struct reporting *reporting)
{
    struct host_fact_list *list = &reporting->list;
    protocol_writer_phase (reporting->writer, "devices");
    pci_facts (list);
    gpu_facts (list);
    say_note_of (reporting, device_facts (list), NOTE_WARNING);
    say_new (reporting);
    say_machine (reporting);
    say_places (reporting);
    protocol_writer_phase (reporting->writer, "metadata");
    say_note (reporting, cloud_facts (list, is_google (list)));
    say_new (reporting);
    say_uptime (reporting);
    say_note (reporting, tpu_logs_newest (list, clock_wall_ms ()));
    protocol_writer_done (reporting->writer);
}

static int facts_run (void)
{
    struct err err;
    struct reporting *reporting;
    struct protocol_writer *writer = protocol_writer_open (&err);
    if (!writer)
        goto failed;
    reporting = mem_alloc (sizeof *reporting);
    reporting->writer = writer;
    host_fact_list_init (&reporting->list, &host_fact_roots_real);
    reporting->profile = protocol_writer_arg_vars (writer, "profile_env", &reporting->list.arena);
    reporting->inherited = protocol_writer_arg_vars (writer, "inherited", &reporting->list.arena);
    reporting->packages = protocol_writer_arg_vars (writer, "packages", &reporting->list.arena);
    say_all (reporting);
    host_fact_list_release (&reporting->list);
    mem_free (reporting);
    if (protocol_writer_close (writer, &err) == 0)
        return EXIT_SAID;
failed:
    fprintf (stderr, "sliceup-worker facts: %s\n", err.text);
    return EXIT_NOT_SAID;
}

int facts_main (int argc, char **argv)
{
    bool help = argc == 2 && !strcmp (argv[1], "--help");
    if (argc > 1) {
        fputs ("usage: sliceup-worker facts\n"
               "Prints the facts of this host, one JSON line a fact (docs/spec/facts.md). It prints no secrets.\n"
               "Exit status: 0 the facts were printed; 1 they could not be printed; 2 usage.\n",
               help ? stdout : stderr);
        return help ? EXIT_SAID : EXIT_WRONG_USAGE;
    }
    return facts_run ();
}
