#include "worker/io/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include "common/base/duration.h"
#include "common/io/clock.h"
#include "worker/io/fact_list.h"
#include "worker/io/speaker.h"

#define NOTE_SOURCE "host-facts"

enum { EXIT_SAID = 0, EXIT_NOT_SAID = 1, EXIT_WRONG_USAGE = 2 };

/* The folder that the run uses: environments and caches grow there. */
static const char *home_folder (const struct speaker *speaker)
{
    const char *env_dir = speaker_arg (speaker, "env_dir"), *home = getenv ("HOME");
    return env_dir && env_dir[0] == '/' ? env_dir : home && home[0] == '/' ? home : "/";
}

/* The nearest folder that exists: before the first run there is none yet. */
static int disk_of (const char *path, struct statvfs *disk)
{
    char part[PATH_MAX_BYTES + 1];
    if (!text_to_c (text_of (path), part, sizeof part))
        return -1;
    while (statvfs (part, disk)) {
        char *slash = strrchr (part, '/');
        if (errno != ENOENT || !slash)
            return -1;
        slash[slash == part] = '\0';
    }
    return 0;
}

static void say_disk (struct speaker *speaker, struct arena *arena)
{
    const char *home = home_folder (speaker);
    struct statvfs disk;
    if (disk_of (home, &disk))
        return;
    double free_gib = (double) disk.f_bavail * (double) disk.f_frsize / (1024.0 * 1024.0 * 1024.0);
    speaker_note (speaker, text_format (arena, "%.1f GiB free for %s", free_gib, home), NOTE_SOURCE,
                  DURABILITY_RECHECK);
}

static void say_uptime (struct speaker *speaker, struct arena *arena)
{
    char up[DURATION_TEXT_BYTES];
    speaker_note (speaker, text_format (arena, "up for %s", duration_print (clock_boot_ms (), up)), NOTE_SOURCE,
                  DURABILITY_RECHECK);
}

static void say_all (struct speaker *speaker, struct fact_list *list)
{
    speaker_phase (speaker, "machine");
    machine_facts (list);
    speaker_phase (speaker, "devices");
    device_facts (list);
    for (uint32_t i = 0; i < list->n; i++)
        speaker_fact (speaker, list->items[i].name.ptr, list->items[i].value);
    say_disk (speaker, &list->arena);
    say_uptime (speaker, &list->arena);
    speaker_done (speaker);
}

static int run (void)
{
    struct err err;
    struct fact_list *list;
    struct speaker *speaker = speaker_open (&err);
    if (!speaker)
        goto failed;
    list = mem_alloc (sizeof *list);
    fact_list_init (list, &fact_roots_real);
    say_all (speaker, list);
    fact_list_release (list);
    mem_free (list);
    if (speaker_close (speaker, &err) == 0)
        return EXIT_SAID;
failed:
    fprintf (stderr, "sliceup-worker facts: %s\n", err.text);
    return EXIT_NOT_SAID;
}

int facts_main (int argc, char **argv)
{
    bool help = argc == 2 && !strcmp (argv[1], "--help");
    if (argc > 1) {
        fputs ("usage: sliceup-worker facts\nPrints what this machine is, one JSON line a fact.\n",
               help ? stdout : stderr);
        return help ? EXIT_SAID : EXIT_WRONG_USAGE;
    }
    return run ();
}
