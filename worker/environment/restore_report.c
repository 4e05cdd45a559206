#include "worker/environment/restore_state.h"
#include <sys/utsname.h>

/* Receipts look for how an environment was restored under this source. */
#define NOTE_SOURCE "environment"

static struct text installed_version (const struct restore *restore, const char *name)
{
    const struct package *package = LIST_FIND (restore->installed, struct package, name, text_of (name));
    return package ? package->version : TEXT_LIT ("absent");
}

static struct digest identity (const struct restore *restore)
{
    struct utsname machine;
    return installed_fingerprint (&restore->installed, &restore->pins, restore->version,
                                  uname (&machine) == 0 ? machine.machine : "unknown",
                                  installed_files_libtpu_sha256 (&restore->files));
}

static void say_identity (struct restore *restore)
{
    char fingerprint[DIGEST_HEX_BYTES], pins[DIGEST_HEX_BYTES];
    struct digest digest = identity (restore);
    struct var first[] = { { TEXT_LIT ("fingerprint"), text_of (digest_hex (&digest, fingerprint)) },
                           { TEXT_LIT ("pins-sha256"), text_of (digest_hex (&restore->pins_digest, pins)) },
                           { TEXT_LIT ("python"), text_of (restore->version) } };
    protocol_writer_bundle (restore->writer, first, sizeof first / sizeof *first);
    protocol_writer_fact (restore->writer, "bundle.identity", text_of (fingerprint));
}

static void say_packages (struct restore *restore)
{
    struct var *packages = arena_array (&restore->arena, restore->installed.n, sizeof *packages);
    for (uint32_t i = 0; i < restore->installed.n; i++)
        packages[i] = (struct var){ restore->installed.items[i].name, restore->installed.items[i].version };
    protocol_writer_bundle (restore->writer, packages, restore->installed.n);
    protocol_writer_fact (restore->writer, "environment.packages",
                          text_format (&restore->arena, "%u", restore->installed.n));
}

static struct text records_word (struct restore *restore)
{
    if (restore->files.differences)
        return restore->wrong_files;
    return restore->files.unhashed
               ? text_format (&restore->arena, "as installed; %u files have no sha256", restore->files.unhashed)
               : TEXT_LIT ("as installed");
}

static void say_files (struct restore *restore)
{
    const struct installed_files *files = &restore->files;
    protocol_writer_fact (restore->writer, "environment.files", text_format (&restore->arena, "%u", files->n));
    protocol_writer_fact (restore->writer, "environment.digest", text_of (DIGEST_TEXT (&files->digest)));
    protocol_writer_fact (restore->writer, "environment.records", records_word (restore));
    for (uint32_t i = 0; i < files->libraries_n; i++) {
        const struct installed_library *library = &files->libraries[i];
        if (library->name.len <= WORD_MAX_BYTES)
            protocol_writer_fact (restore->writer,
                                  text_format (&restore->arena, "library.%.*s", TEXT_ARG (library->name)).ptr,
                                  text_of (library->sha256));
    }
}

static void say_how (struct restore *restore)
{
    /* Nothing that differs between hosts by chance: receipts fold hosts that were restored in the same way. */
    struct text pip = installed_version (restore, "pip"), how;
    if (restore->built)
        how = text_format (&restore->arena, "installed by pip %.*s: %u packages%s verified (%u files)", TEXT_ARG (pip),
                           restore->pins.n, restore->wheels ? " from the coordinator's wheels" : "", restore->files.n);
    else
        how = text_format (&restore->arena, "already installed; %u packages verified (%u files)", restore->pins.n,
                           restore->files.n);
    protocol_writer_note (restore->writer, how, NOTE_SOURCE, DURABILITY_RERUN);
}

void restore_report_contents (struct restore *restore)
{
    if (restore->installed.items)
        say_packages (restore);
    if (restore->files_read)
        say_files (restore);
}

void restore_report_success (struct restore *restore)
{
    say_identity (restore);
    restore_report_contents (restore);
    protocol_writer_fact (restore->writer, "environment.path", text_of (restore->path));
    say_how (restore);
    protocol_writer_done (restore->writer);
}
