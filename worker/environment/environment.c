#include "worker/environment/installed.h"

#include "worker/process/subprocess.h"
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
