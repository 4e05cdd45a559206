#include "worker/environment/installed.h"

#include "common/io/atomic_file.h"
#include "worker/process/subprocess.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 4096, SHOWN_COLUMNS = 120 };

/* Three numbers with dots, the first a 3: sys.version_info[:3] has no suffixes such as "rc1". */
static bool version_valid (const char *version)
{
    int dots = 0;
    for (const char *c = version; *c; c++) {
        if (*c == '.' && (c == version || !isdigit ((unsigned char) c[-1]) || !isdigit ((unsigned char) c[1])))
            return false;
        if (*c != '.' && !isdigit ((unsigned char) *c))
            return false;
        dots += *c == '.';
    }
    return strncmp (version, "3.", 2) == 0 && dots == 2;
}

static int environment_check_name (const char *python, struct err *err)
{
    if (python[0] && python[0] != '-' && (python[0] == '/' || !strchr (python, '/')))
        return 0;
    return err_set (err, ERR_CONFIG, "python \"%.200s\" is neither an absolute path nor a name without a slash",
                    python);
}

static int refuse_answer (const char *python, const struct buf *answer, int status, struct err *err)
{
    LOCAL_BUF shown = { .max = 400 };
    buf_escaped (&shown, buf_as_text (answer), SHOWN_COLUMNS);
    err_set (err, ERR_STATE, "%.200s is not a working Python 3: it exited with status %d and printed \"%.200s\"",
             python, status, buf_c (&shown));
    return -1;
}

int environment_ask_version (const char *python, char version[PYTHON_VERSION_BYTES], struct err *err)
{
    /* -I -S: neither the user's variables nor site packages have a say in this answer. */
    const char *argv[] = { python, "-I", "-S", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])", NULL };
    struct subprocess ask = { .argv = argv, .limit_ms = ENVIRONMENT_ASK_MS, .echo_fd = -1, .held_fd = -1 };
    int status, rc = -1;
    if (environment_check_name (python, err))
        return -1;
    LOCAL_BUF answer = { .max = ANSWER_BYTES_MAX };
    if (subprocess_run (&ask, &answer, &status, err)) {
        err_prefix (err, "the interpreter that pins.python names");
        return rc;
    }
    struct text said = buf_as_text (&answer);
    if (said.len && said.ptr[said.len - 1] == '\n')
        said.len--;
    if (status == 0 && text_to_c (said, version, PYTHON_VERSION_BYTES) && version_valid (version))
        rc = 0;
    else
        rc = refuse_answer (python, &answer, status, err);
    return rc;
}

/* "3.11" of "3.11.7": as many characters. */
static int minor_len (const char *version)
{
    const char *dot = strchr (version, '.');
    assert (dot);
    return (int) (dot + 1 + strspn (dot + 1, "0123456789") - version);
}

static int check_len (int len, size_t out_bytes, struct err *err)
{
    if (len >= 0 && (size_t) len < out_bytes)
        return 0;
    return err_set (err, ERR_LIMIT, "the path of the environment is longer than %zu bytes", out_bytes - 1);
}

int environment_path_of_version (struct text env_dir, const char *version, char *out, size_t bytes, struct err *err)
{
    char dir[PATH_MAX_BYTES + 1];
    if (!text_to_c (env_dir, dir, sizeof dir) || dir[0] != '/' || dir[1] == '\0' || env_dir.ptr[env_dir.len - 1] == '/')
        return err_set (err, ERR_CONFIG, "env_dir \"%.*s\": expected an absolute path without a '/' at its end",
                        env_dir.len < 200 ? (int) env_dir.len : 200, env_dir.len ? env_dir.ptr : "");
    return check_len (snprintf (out, bytes, "%s-py%.*s", dir, minor_len (version), version), bytes, err);
}

int environment_site (const char *path, const char *version, char *out, size_t out_bytes, struct err *err)
{
    return check_len (snprintf (out, out_bytes, "%s/lib/python%.*s/site-packages", path, minor_len (version), version),
                      out_bytes, err);
}

int environment_path (const struct pins *pins, char *out, size_t out_bytes, struct err *err)
{
    char python[PATH_MAX_BYTES + 1], version[PYTHON_VERSION_BYTES];
    if (!text_to_c (pins->python, python, sizeof python))
        return err_set (err, ERR_CONFIG, "the name of the Python interpreter is longer than %d bytes", PATH_MAX_BYTES);
    if (environment_ask_version (python, version, err))
        return -1;
    return environment_path_of_version (pins->env_dir, version, out, out_bytes, err);
}

/* ---- whether its files changed since they were verified ---- */

/* Beside the packages, of this user only: size, times and inode of every file when all were read, and what was found. */
#define VERIFIED ".sliceup-verified"
enum { VERIFIED_BYTES_MAX = 16 << 10, SETTLED_S = 2 }; /* a change within a file system's tick would leave its time */
/* Of an environment that was just built and has more than this, reading all again the next time takes longer than to
 * settle now. */
#define SETTLED_BYTES (UINT64_C (2) << 30)

struct look {
    struct digest_state *all;
    struct digest digest;
    time_t newest;
    uint64_t bytes;
};

/* What content does not depend on: Python compiles its sources when it likes, and our own two are written after a look. */
static bool is_looked_at (const FTSENT *entry)
{
    struct text name = text_of (entry->fts_name);
    bool compiled = text_ends (name, ".pyc") && text_is (text_of (entry->fts_parent->fts_name), "__pycache__");
    return entry->fts_info != FTS_DP && entry->fts_info != FTS_D && !compiled &&
           !(entry->fts_level == 1 && (text_starts (name, VERIFIED) || text_is (name, ENVIRONMENT_COMPLETE)));
}

static void look_at (struct look *look, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    char line[160];
    int len = snprintf (line, sizeof line, "%" PRIu64 " %" PRIu64 " %o %" PRId64 ".%09ld %" PRId64 ".%09ld\n",
                        (uint64_t) st->st_ino, (uint64_t) st->st_size, (unsigned) st->st_mode,
                        (int64_t) st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (int64_t) st->st_ctim.tv_sec,
                        st->st_ctim.tv_nsec);
    digest_add (look->all, entry->fts_path, entry->fts_pathlen + 1);
    digest_add (look->all, line, (size_t) len);
    look->newest = st->st_ctim.tv_sec > look->newest ? st->st_ctim.tv_sec : look->newest;
    look->bytes += (uint64_t) st->st_size;
}

static int by_file_name (const FTSENT **a, const FTSENT **b)
{
    return strcmp ((*a)->fts_name, (*b)->fts_name);
}

static bool look_over (const char *path, struct look *look)
{
    char *roots[] = { (char *) path, NULL };
    FTSENT *entry;
    bool whole = true;
    FTS *walk = fts_open (roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_file_name);
    *look = (struct look){ .all = digest_begin () };
    while (walk && (errno = 0, entry = fts_read (walk))) {
        whole &= entry->fts_info != FTS_DNR && entry->fts_info != FTS_ERR && entry->fts_info != FTS_NS;
        if (is_looked_at (entry) && whole)
            look_at (look, entry);
    }
    whole &= errno == 0;
    look->digest = digest_end (look->all);
    return walk && fts_close (walk) == 0 && whole;
}

struct text verified_look (const char *path, bool built, struct arena *arena)
{
    struct look look;
    time_t now = time (NULL);
    bool whole = look_over (path, &look);
    if (built && whole && look.bytes > SETTLED_BYTES && look.newest + SETTLED_S > now && look.newest <= now) {
        (void) sleep (SETTLED_S + 1);
        whole = look_over (path, &look);
    }
    bool settled = look.newest + SETTLED_S <= time (NULL);
    return whole && settled ? text_copy (arena, text_of (DIGEST_TEXT (&look.digest))) : (struct text){ 0 };
}

static struct text place_of (const char *path, struct arena *arena)
{
    return text_format (arena, "%s/" VERIFIED, path);
}

static bool read_line (struct text *rest, char *line, size_t max)
{
    return text_to_c (text_take_until (rest, '\n'), line, max);
}

static bool read_library (struct text *rest, struct arena *arena, struct installed_library *out)
{
    char line[PATH_MAX_BYTES + 128];
    int name = 0;
    if (!read_line (rest, line, sizeof line) ||
        sscanf (line, "%64s %" SCNu64 " %n", out->sha256, &out->bytes, &name) != 2)
        return false;
    out->name = text_copy (arena, text_of (line + name));
    return out->name.len > 0;
}

/* It is our own file, and still no count in it decides a place. */
static bool read_found (struct text rest, struct arena *arena, struct installed_files *out)
{
    char line[256], digest[DIGEST_HEX_BYTES];
    struct installed_files found = { 0 };
    if (!read_line (&rest, line, sizeof line) ||
        sscanf (line, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %64s", &found.n, &found.unhashed, &found.bytes, digest) !=
            4 ||
        !digest_parse (text_of (digest), &found.digest))
        return false;
    while (rest.len && found.libraries_n <= LIBRARIES_MAX)
        if (!read_library (&rest, arena, &found.libraries[found.libraries_n++]))
            return false;
    *out = found;
    return rest.len == 0;
}

/* What was found belongs to how the files looked: one digest shows both, and that no byte of it is lost. */
static struct digest seal_of (struct text seen, struct text found)
{
    struct digest_state *state = digest_begin ();
    digest_add (state, seen.ptr, seen.len);
    digest_add (state, found.ptr, found.len);
    return digest_end (state);
}

bool verified_recall (const char *path, struct text seen, struct arena *arena, struct installed_files *found)
{
    LOCAL_BUF bytes = { .max = VERIFIED_BYTES_MAX };
    if (private_file_read_nofollow (place_of (path, arena).ptr, &bytes, NULL) < 0)
        return false;
    struct text rest = buf_as_text (&bytes), was = text_take_until (&rest, '\n');
    struct digest seal = seal_of (seen, rest);
    return seen.len && text_is (was, DIGEST_TEXT (&seal)) && read_found (rest, arena, found);
}

void verified_keep (const char *path, struct text seen, const struct installed_files *found, struct arena *arena)
{
    LOCAL_BUF bytes = { .max = VERIFIED_BYTES_MAX }, body = { .max = VERIFIED_BYTES_MAX };
    if (!seen.len || found->differences)
        return;
    buf_printf (&body, "%u %u %" PRIu64 " %s\n", found->n, found->unhashed, found->bytes, DIGEST_TEXT (&found->digest));
    for (uint32_t i = 0; i < found->libraries_n; i++)
        buf_printf (&body, "%s %" PRIu64 " %.*s\n", found->libraries[i].sha256, found->libraries[i].bytes,
                    TEXT_ARG (found->libraries[i].name));
    struct digest seal = seal_of (seen, buf_as_text (&body));
    buf_printf (&bytes, "%s\n", DIGEST_TEXT (&seal));
    buf_add_text (&bytes, buf_as_text (&body));
    if (!bytes.overflow && !body.overflow) /* where it cannot be written, all is read again the next time */
        (void) atomic_file_write (place_of (path, arena).ptr, bytes.ptr, bytes.len, 0600, NULL);
}
