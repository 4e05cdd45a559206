/* kit.c - the files that a canary needs on its host: itself, the helper, and the modules beside it that it imports.
 *
 * Modules are found by reading, never by running: an import statement at the beginning of a line names them. So a
 * program brings only the modules that it uses (docs/spec/canary.md). */
#include "common/model/kit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/duration.h"
#include "common/base/path.h"
#include "common/conf/draft.h"

enum {
    HELPER_LEVELS_MAX = 3,       /* a canary's folder, its frontend's, and the one of all canaries */
    NAMES_MAX_BYTES = 24 * 1024, /* of all names and paths of a rung, which must fit one frame with each RUN */
};
#define PROGRAM_NAME "sliceup-program.py" /* with a '-': no module can be called so */
#define COMMAND_HELPER "sliceup_program"  /* the module by which the program of a command reports */

static const struct conf_file_kind module_kind = { "module", "", ".py" };

struct kit_draft {
    struct draft *draft;
    const struct yaml_node *canary;
    struct text folder;        /* of the program: the first place where Python looks */
    struct text helper_folder; /* empty: no helper was found */
    struct kit_file files[KIT_FILES_MAX];
    struct text bytes[KIT_FILES_MAX];
    uint32_t n;
    bool wants_command_helper; /* a file names it */
};

/* ---- places ---- */

static bool kit_is_file (const char *path)
{
    struct stat status;
    return stat (path, &status) == 0 && S_ISREG (status.st_mode);
}

static struct text below (struct draft *draft, struct text folder, struct text name)
{
    bool root = folder.len == 1;
    return text_format (draft->arena, "%.*s/%.*s", root ? 0 : (int) folder.len, folder.ptr, TEXT_ARG (name));
}

/* Beside the canary or above it, so that both come from one tree; for a user's own canary, the installed one. */
static void find_helper (struct kit_draft *kit)
{
    struct text folder = kit->folder;
    for (uint32_t level = 0; level < HELPER_LEVELS_MAX; level++) {
        if (kit_is_file (below (kit->draft, folder, TEXT_LIT (KIT_HELPER)).ptr)) {
            kit->helper_folder = folder;
            return;
        }
        folder = path_folder (folder);
    }
    folder = text_format (kit->draft->arena, "%s/worker/canaries", kit->draft->options->share_dir);
    if (kit_is_file (below (kit->draft, folder, TEXT_LIT (KIT_HELPER)).ptr))
        kit->helper_folder = folder;
}

/* ---- files ---- */

static bool has_path (const struct kit_draft *kit, struct text path)
{
    for (uint32_t i = 0; i < kit->n; i++)
        if (text_equal (kit->files[i].file.path, path))
            return true;
    return false;
}

static int kit_add_file (struct kit_draft *kit, struct text name, const struct source *source)
{
    if (has_path (kit, source->ref.path))
        return 0;
    if (kit->n == KIT_FILES_MAX)
        return problem_at (kit->draft->problems, kit->canary,
                           "this program and the modules that it imports from %.*s are more than %d files",
                           TEXT_ARG (kit->folder), KIT_FILES_MAX);
    kit->files[kit->n].name = name;
    kit->files[kit->n].file = source->ref;
    kit->bytes[kit->n++] = source->bytes;
    return 0;
}

static int read_file (struct kit_draft *kit, struct text folder, struct text name)
{
    struct source source;
    struct stat found;
    struct yaml_node at = *kit->canary; /* a problem of the module is shown at the canary */
    at.text = below (kit->draft, folder, name);
    if (source_read (&source, &module_kind, kit->draft->options->share_dir, &at, kit->draft->problems) != 0)
        return -1;
    if (lstat (source.shown, &found) == 0 && S_ISLNK (found.st_mode)) /* else beside its canary, which is noted */
        draft_note_path (kit->draft, source.shown);
    return kit_add_file (kit, text_copy (kit->draft->arena, name), &source);
}

/* ---- imports ---- */

static void skip_blanks (struct text *line)
{
    while (line->len && (line->ptr[0] == ' ' || line->ptr[0] == '\t'))
        text_skip (line, 1);
}

static struct text kit_take_word (struct text *line)
{
    struct text word = { line->ptr, text_span (*line, "_") };
    text_skip (line, word.len);
    return word;
}

static void warn_of_package (struct kit_draft *kit, struct text name)
{
    struct text folder = below (kit->draft, kit->folder, name);
    if (draft_is_remote (kit->draft) && kit_is_file (below (kit->draft, folder, TEXT_LIT ("__init__.py")).ptr))
        warning_at (
            kit->draft->problems, kit->canary,
            "the package %.*s beside this program is not copied to hosts, expected modules of one file each, or with a "
            "command the rung's key folder: .",
            TEXT_ARG (name));
}

static int take_module (struct kit_draft *kit, struct text name)
{
    if (name.len == 0 || name.len > ID_MAX_BYTES)
        return 0;
    struct text file = text_format (kit->draft->arena, "%.*s.py", TEXT_ARG (name));
    if (kit_is_file (below (kit->draft, kit->folder, file).ptr))
        return read_file (kit, kit->folder, file);
    warn_of_package (kit, name);
    return 0;
}

/* The "b.c as d" of "import a, b.c as d", or the "a.b import c" behind "from", up to the next item: takes in the first
 * word. What goes on otherwise is prose, such as "from here on" in a docstring. */
static int scan_item (struct kit_draft *kit, bool from, struct text item)
{
    skip_blanks (&item);
    struct text name = kit_take_word (&item);
    text_skip (&item, text_span (item, "_."));
    skip_blanks (&item);
    bool goes_on = text_starts (item, from ? "import" : "as ") || text_starts (item, "\\");
    bool ends = !from && (!item.len || strchr (";#\r", item.ptr[0]));
    return goes_on || ends ? take_module (kit, name) : 0;
}

static int scan_line (struct kit_draft *kit, struct text line)
{
    skip_blanks (&line);
    struct text word = kit_take_word (&line);
    if (text_is (word, "from"))
        return scan_item (kit, true, line);
    while (text_is (word, "import") && line.len)
        if (scan_item (kit, false, text_take_until (&line, ',')) < 0)
            return -1;
    return 0;
}

static int scan_file (struct kit_draft *kit, struct text bytes)
{
    kit->wants_command_helper |= text_find (bytes, TEXT_LIT (COMMAND_HELPER), NULL);
    while (bytes.len)
        if (scan_line (kit, text_take_until (&bytes, '\n')) < 0)
            return -1;
    return 0;
}

/* ---- names ---- */

/* Names the files by their path below the helper's folder: the canary finds the same files beside and above it. */
static bool name_below_helper (struct kit_draft *kit)
{
    struct text top = kit->helper_folder;
    struct text program = kit->files[0].file.path;
    if (!top.len || program.len <= top.len + 1 || memcmp (program.ptr, top.ptr, top.len) != 0 ||
        program.ptr[top.len] != '/')
        return false;
    struct text inside = { kit->folder.ptr + top.len, kit->folder.len - top.len }; /* "" or "/jax" */
    if (inside.len)
        text_skip (&inside, 1);
    for (uint32_t i = 0; i < kit->n; i++) {
        struct kit_file *file = &kit->files[i];
        if (inside.len && !text_is (file->name, KIT_HELPER))
            file->name = text_format (kit->draft->arena, "%.*s/%.*s", TEXT_ARG (inside), TEXT_ARG (file->name));
        if (!kit_name_is_good (file->name))
            return false;
    }
    return true;
}

static void name_flat (struct kit_draft *kit)
{
    for (uint32_t i = 0; i < kit->n; i++)
        kit->files[i].name = path_name (kit->files[i].name);
    if (!kit_name_is_good (kit->files[0].name))
        kit->files[0].name = TEXT_LIT (PROGRAM_NAME);
}

static int check_bytes (struct kit_draft *kit)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < kit->n; i++)
        bytes += kit->files[i].name.len + kit->files[i].file.path.len + kit->files[i].file.sha256.len;
    if (bytes <= NAMES_MAX_BYTES)
        return 0;
    return problem_at (
        kit->draft->problems, kit->canary,
        "the names, paths and sha256 of the %u files of this program in %.*s take %u bytes, expected at most %d",
        kit->n, TEXT_ARG (kit->folder), (unsigned) bytes, NAMES_MAX_BYTES);
}

static int kit_gather (struct kit_draft *kit, const struct source *program)
{
    if (kit_add_file (kit, path_name (program->ref.path), program) < 0)
        return -1;
    find_helper (kit);
    if (kit->helper_folder.len && read_file (kit, kit->helper_folder, TEXT_LIT (KIT_HELPER)) < 0)
        return -1;
    for (uint32_t i = 0; i < kit->n; i++) /* it grows meanwhile */
        if (scan_file (kit, kit->bytes[i]) < 0)
            return -1;
    if (!name_below_helper (kit))
        name_flat (kit);
    return check_bytes (kit);
}

int draft_kit (struct draft *draft, const struct yaml_node *canary, const struct source *program, struct rung *rung)
{
    struct kit_draft *kit = arena_alloc (draft->arena, sizeof *kit);
    kit->draft = draft;
    kit->canary = canary;
    kit->folder = path_folder (program->ref.path);
    if (kit_gather (kit, program) < 0)
        return -1;
    rung->files.items = kit->files;
    rung->files.n = kit->n;
    return 0;
}

/* ---- of a command ---- */

static bool is_inside (struct text path, struct text folder)
{
    return folder.len == 1 ||
           (path.len > folder.len && memcmp (path.ptr, folder.ptr, folder.len) == 0 && path.ptr[folder.len] == '/');
}

/* The folder that holds all of them. */
static struct text common_folder (const struct kit_draft *kit)
{
    struct text folder = path_folder (kit->files[0].file.path);
    for (uint32_t i = 1; i < kit->n; i++)
        while (!is_inside (kit->files[i].file.path, folder))
            folder = path_folder (folder);
    return folder;
}

static int name_by_folder (struct kit_draft *kit)
{
    struct text top = common_folder (kit);
    uint32_t skipped = top.len > 1 ? top.len + 1 : 1;
    for (uint32_t i = 0; i < kit->n; i++) {
        struct text path = kit->files[i].file.path;
        kit->files[i].name = (struct text){ path.ptr + skipped, path.len - skipped };
        if (!kit_name_is_good (kit->files[i].name))
            return problem_at (
                kit->draft->problems, kit->canary,
                "the file %.*s of this command has the name %.*s below %.*s, expected at most 4 parts of "
                "letters, digits, '.', '_', '+' and '-', none beginning with '.'",
                TEXT_ARG (path), TEXT_ARG (kit->files[i].name), TEXT_ARG (top));
    }
    return 0;
}

static int add_command_helper (struct kit_draft *kit)
{
    const char *share = kit->draft->options->share_dir;
    struct text folder = text_format (kit->draft->arena, "%s/worker/canaries", share);
    uint32_t first = kit->n;
    static const char *const parts[][2] = { { "program", COMMAND_HELPER ".py" },
                                            { "program", COMMAND_HELPER "_children.py" },
                                            { "torch_xla", "sliceup_torch_xla_client.py" },
                                            { ".", KIT_HELPER } };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (read_file (kit, below (kit->draft, folder, text_of (parts[i][0])), text_of (parts[i][1])) < 0)
            return -1;
    for (uint32_t i = first; i < kit->n; i++)
        kit->files[i].name = text_format (kit->draft->arena, KIT_COMMAND_HELPERS "/%.*s",
                                          TEXT_ARG (kit->files[i].name));
    return 0;
}

static int gather_command (struct kit_draft *kit, const struct kit_sources *files)
{
    for (uint32_t i = 0; i < files->n; i++)
        if (kit_add_file (kit, path_name (files->items[i].ref.path), &files->items[i]) < 0)
            return -1;
    for (uint32_t i = 0; i < kit->n; i++) { /* it grows meanwhile */
        struct text path = kit->files[i].file.path;
        kit->folder = path_folder (path);
        if (text_ends (path, ".py") && scan_file (kit, kit->bytes[i]) < 0)
            return -1;
    }
    return kit->n ? name_by_folder (kit) : 0;
}

int draft_command_kit (struct draft *draft, const struct yaml_node *command, const struct kit_sources *files,
                       bool helper, struct rung *rung)
{
    struct kit_draft *kit = arena_alloc (draft->arena, sizeof *kit);
    kit->draft = draft;
    kit->canary = command;
    kit->wants_command_helper = helper;
    if (gather_command (kit, files) < 0 || (kit->wants_command_helper && add_command_helper (kit) < 0) ||
        check_bytes (kit) < 0)
        return -1;
    rung->files.items = kit->files;
    rung->files.n = kit->n;
    return 0;
}

/* ---- a folder ---- */

/* Keeps the bytes for whoever begins the run; the plan has their sha256. */
static void keep_pack (struct draft *draft, struct text top, struct buf *bytes, struct rung *rung)
{
    struct digest digest = digest_of (bytes->ptr, bytes->len);
    struct var pack = { text_copy (draft->arena, text_of (DIGEST_TEXT (&digest))), { 0 } };
    rung->folder = text_format (draft->arena, "%.*s, %s", TEXT_ARG (top), SIZE_TEXT (bytes->len));
    rung->files.items[rung->files.n++] = (struct kit_file){ TEXT_LIT (KIT_FOLDER), { top, pack.name } };
    pack.value = buf_finish (bytes, draft->arena);
    if (draft->options->packs)
        *(struct var *) list_append (draft->options->packs, sizeof pack, draft->arena) = pack;
}

const char *draft_folder (struct draft *draft, const struct yaml_node *at, struct rung *rung)
{
    struct err err = { .text = "it is no folder, relative to the ladder file" };
    LOCAL_MEM char *real = realpath (source_beside (draft->arena, at->file, at->text), NULL);
    struct text top = text_copy (draft->arena, text_of (real));
    LOCAL_BUF bytes = { .max = KIT_FILE_MAX_BYTES };
    if (top.len && (!draft->options->pack_folder || draft->options->pack_folder (top.ptr, &bytes, &err) == 0)) {
        keep_pack (draft, top, &bytes, rung);
        return top.ptr;
    }
    problem_at (draft->problems, at,
                "the folder %s cannot be copied to hosts: %s; expected one of at most %d MiB without "
                "what git ignores: name in .gitignore what hosts do not need, and put data where they can read it",
                problem_quote (draft->problems, at->text), err.text, KIT_FILE_MAX_BYTES >> 20);
    return NULL;
}
