/* pins.c - the pin set, checked as the worker reads it, and where its environment is built. */
#include <string.h>

#include "common/conf/draft.h"
#include "common/model/requirements.h"

enum { ENV_DIR_DIGITS = 16, LINES_TOLD_MAX = 8 };

static const struct conf_file_kind pins_kind = { "pin set", "configs/pins", ".txt" },
                                   setup_kind = { "setup script", "configs/pins", ".sh" };

/* A relative path with a slash would name different files on different hosts. */
static bool python_is_good (struct text python)
{
    if (python.ptr[0] == '-')
        return false;
    return python.ptr[0] == '/' || !memchr (python.ptr, '/', python.len);
}

static void set_env_dir (struct draft *draft)
{
    struct pins *pins = &draft->plan.pins;
    struct text base = draft_base_folder (draft);
    if (draft->slice[SLICE_ENV_DIR].given)
        pins->env_dir = draft_host_path (draft, &draft->slice[SLICE_ENV_DIR]);
    else
        pins->env_dir = text_format (draft->arena, "%.*s/envs/%.*s", TEXT_ARG (base), ENV_DIR_DIGITS,
                                     pins->file.sha256.ptr);
}

struct pin_mistakes {
    struct problem_list *problems;
    const char *shown;
    uint32_t n;
};

static void pins_tell (void *owner, uint32_t line, const char *what)
{
    struct pin_mistakes *mistakes = owner;
    if (mistakes->n++ < LINES_TOLD_MAX)
        problem_add (mistakes->problems, mistakes->shown, line, 1, "%s", what);
}

static int pins_check (struct draft *draft, const struct yaml_node *reference, const struct source *source)
{
    struct pin_mistakes told = { draft->problems, source->shown, 0 };
    struct requirements pins;
    int rc = requirements_check (source->bytes, draft->arena, pins_tell, &told, &pins);
    const char *more = "";
    if (told.n > LINES_TOLD_MAX)
        more = text_format (draft->arena, " and %u more", told.n - LINES_TOLD_MAX).ptr;
    if (rc != REQUIREMENTS_BAD_LINES)
        return rc;
    return problem_at (
        draft->problems, reference,
        "hosts would refuse the lines of the pin file that are told%s; `sliceup env lock %s -o locked.txt` "
        "writes a file with all versions and hashes",
        more, source->shown);
}

static int pins_read_file (struct draft *draft, const struct yaml_node *reference, struct text *bytes)
{
    struct source source;
    if (draft_read_source (draft, &pins_kind, reference, &source) != 0)
        return -1;
    struct text name = source_stem (source.ref.path, pins_kind.extension);
    if (!name_is_good (name))
        return problem_at (draft->problems, reference,
                           "the pin set is named %s, expected a file name of letters, digits, '.', '_' and '-'",
                           problem_quote (draft->problems, name));
    draft->plan.pins.name = name;
    draft->plan.pins.file = source.ref;
    *bytes = source.bytes;
    return pins_check (draft, reference, &source);
}

/* The command line's folder is relative to the working directory; the slice file's is absolute. */
static void read_wheels (struct draft *draft, const struct yaml_node *at, struct text folder, struct text pin_bytes)
{
    const char *asked = draft->options->wheels;
    struct yaml_node option = { .file = "--wheels", .kind = YAML_SCALAR };
    if (asked)
        option.text = folder = text_of (asked);
    else if (folder.len)
        folder = draft_local_path (draft, at, folder);
    if (asked || folder.len)
        draft_find_wheels (draft, asked ? &option : at, folder, pin_bytes);
}

/* The script's first line chooses the shell, which gets it as an argument, so that the verified bytes run. */
static bool is_of_a_shell (struct text script)
{
    static const char *const known[] = { "#!/bin/sh", "#!/bin/bash", "#!/usr/bin/bash", "#!/usr/bin/env bash",
                                         "#!/usr/bin/env sh" };
    struct text first = text_take_until (&script, '\n');
    return !text_starts (first, "#!") || text_is_word (first, known, sizeof known / sizeof known[0]);
}

static void read_setup (struct draft *draft, const struct yaml_node *reference)
{
    struct source setup;
    if (draft_read_source (draft, &setup_kind, reference, &setup) != 0)
        return;
    draft->plan.pins.setup = setup.ref;
    if (!is_of_a_shell (setup.bytes))
        problem_at (draft->problems, reference,
                    "the first line of the setup script asks for another program or for options, expected #!/bin/sh or "
                    "#!/bin/bash, and options by `set` in its second line");
    if (setup.bytes.len > SETUP_MAX_BYTES || (setup.bytes.len && memchr (setup.bytes.ptr, '\0', setup.bytes.len)))
        problem_at (draft->problems, reference,
                    "the setup script has %u bytes, expected a text of at most %d without a byte 0", setup.bytes.len,
                    SETUP_MAX_BYTES);
}

static void read_map (struct draft *draft, const struct yaml_node *map)
{
    struct conf_value pins[PINS_KEYS];
    struct text bytes;
    if (section_read (&pins_section, map, pins, draft->problems) != 0)
        return;
    if (pins[PINS_SETUP].given && pins[PINS_SETUP].good)
        read_setup (draft, pins[PINS_SETUP].node);
    if (pins[PINS_PYTHON].good && !python_is_good (pins[PINS_PYTHON].text))
        problem_at (draft->problems, pins[PINS_PYTHON].node,
                    "the interpreter is %s, expected a name on the PATH or an absolute path",
                    problem_quote (draft->problems, pins[PINS_PYTHON].text));
    draft->plan.pins.python = pins[PINS_PYTHON].text;
    if (!pins[PINS_FILE].good || pins_read_file (draft, pins[PINS_FILE].node, &bytes) != 0)
        return;
    set_env_dir (draft);
    if (!pins[PINS_WHEELS].given || pins[PINS_WHEELS].good)
        read_wheels (draft, pins[PINS_WHEELS].node, pins[PINS_WHEELS].text, bytes);
}

void draft_check_setup (struct draft *draft)
{
    bool restored = draft->plan.pins.setup.path.len == 0;
    for (uint32_t i = 0; i < draft->plan.rungs.n; i++)
        restored = restored || text_is (draft->plan.rungs.items[i].builtin, "restore");
    if (!restored)
        warning_at (draft->problems, draft->slice[SLICE_PINS].node,
                    "the setup script is not run: the ladder has no rung with builtin: restore");
}

void draft_pins (struct draft *draft)
{
    const struct yaml_node *reference = draft_choose_reference (draft, SLICE_PINS, draft->options->pins, "--pins");
    struct text bytes;
    if (!reference && draft->options->wheels)
        problem_at (draft->problems, draft->root, "--wheels without pins, expected the key 'pins' in the slice file");
    if (!reference)
        return;
    if (reference->kind == YAML_MAP) {
        read_map (draft, reference);
        return;
    }
    draft->plan.pins.python = text_of (pins_section.keys[PINS_PYTHON].fallback);
    if (reference->kind != YAML_SCALAR)
        problem_at (draft->problems, reference, "pins is %s, expected the name of a pin set or a map",
                    yaml_kind_name (reference->kind));
    else if (reference->text.len > PATH_MAX_BYTES)
        problem_at (draft->problems, reference, "the name of the pin set is %u bytes long, expected at most %d",
                    reference->text.len, PATH_MAX_BYTES);
    else if (pins_read_file (draft, reference, &bytes) == 0) {
        set_env_dir (draft);
        read_wheels (draft, reference, (struct text){ 0 }, bytes);
    }
}
