#include "worker/environment/setup_script.h"

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/model/plan.h"
#include "worker/process/subprocess.h"
#include <unistd.h>

enum { SETUP_LIMIT_MS = 20 * 60 * 1000, OUTPUT_BYTES_MAX = 16 * 1024, LINES_SHOWN = 3, SHOWN_COLUMNS = 130 };

static int read_script (const char *path, const char *sha256, struct buf *out, struct err *err)
{
    struct digest wanted;
    if (!digest_parse (text_of (sha256), &wanted))
        return err_set (err, ERR_PARSE, "the rung's args.setup_sha256 is not 64 hexadecimal digits");
    if (file_read (path, out, err))
        return -1;
    struct digest is = digest_of (out->ptr, out->len);
    if (!digest_equal (&is, &wanted))
        return err_set (err, ERR_DAMAGE, "the setup script %.300s changed since the run started (another sha256)",
                        path);
    return 0;
}

/* Only these two are asked to take a script as an argument, by which what was verified is what runs. */
static const char *shell_of (struct text script)
{
    struct text first = text_take_until (&script, '\n');
    return text_starts (first, "#!") && text_find (first, TEXT_LIT ("bash"), NULL) ? "bash" : "sh";
}

/* The last lines, as one: "a | b | c". */
static void add_last_lines (struct text output, struct buf *out)
{
    struct text lines[LINES_SHOWN] = { 0 };
    while (output.len) {
        struct text line = text_take_until (&output, '\n');
        for (size_t i = 1; line.len && i < LINES_SHOWN; i++)
            lines[i - 1] = lines[i];
        if (line.len)
            lines[LINES_SHOWN - 1] = line;
    }
    const char *before = ": ";
    for (size_t i = 0; i < LINES_SHOWN; i++) {
        buf_escaped_after (out, lines[i].len ? before : "", lines[i], SHOWN_COLUMNS);
        before = lines[i].len ? " | " : before;
    }
}

static int refuse (int status, struct text output, struct err *err)
{
    struct buf lines;
    buf_init (&lines, LINES_SHOWN * 4 * SHOWN_COLUMNS);
    add_last_lines (output, &lines);
    err_set (err, ERR_STATE, "the setup script ended with status %d%s", status,
             lines.len ? buf_c (&lines) : ", and printed nothing");
    buf_release (&lines);
    return -1;
}

static int run_script (const struct buf *script, struct arena *arena, struct text *told, struct err *err)
{
    struct text bytes = buf_as_text (script);
    const char *argv[] = { shell_of (bytes), "-c", text_copy (arena, bytes).ptr, "setup.sh", NULL };
    struct subprocess subprocess = {
        .argv = argv, .limit_ms = SETUP_LIMIT_MS, .echo_fd = STDERR_FILENO, .held_fd = -1
    };
    struct buf output;
    int status, rc;
    buf_init (&output, OUTPUT_BYTES_MAX);
    rc = subprocess_run (&subprocess, &output, &status, err);
    if (rc)
        err_prefix (err, "the setup script");
    else {
        *told = text_format (arena, "ended with status %d", status);
        rc = status ? refuse (status, buf_as_text (&output), err) : 0;
    }
    buf_release (&output);
    return rc;
}

int setup_script_run (const char *path, const char *sha256, struct arena *arena, struct text *told, enum owner *owner,
                      struct err *err)
{
    struct buf script;
    buf_init (&script, SETUP_MAX_BYTES);
    *owner = OWNER_SLICEUP;
    int rc = read_script (path, sha256, &script, err);
    if (rc == 0) {
        *owner = OWNER_HOST;
        rc = run_script (&script, arena, told, err);
    }
    buf_release (&script);
    return rc;
}
