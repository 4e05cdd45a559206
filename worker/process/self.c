#include "worker/process/self.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int pieces_n; /* 0: no image */
static const char *image_file;

/* The kernel gives the address of a program's loader; a directly executed loader has none (getauxval(3), AT_BASE). */
static bool is_image (void)
{
    struct stat first, executed;
    return getauxval (AT_BASE) == 0 && fstat (IMAGE_FD_FIRST + IMAGE_LOADER, &first) == 0 &&
           stat ("/proc/self/exe", &executed) == 0 && first.st_dev == executed.st_dev &&
           first.st_ino == executed.st_ino;
}

void self_init (const char *argv0)
{
    if (!is_image ())
        return;
    while (pieces_n < IMAGE_PIECES_MAX && fcntl (IMAGE_FD_FIRST + pieces_n, F_SETFD, FD_CLOEXEC) == 0)
        pieces_n++;
    image_file = argv0 ? mem_text (argv0) : NULL; /* arguments may be overwritten: process_title_set */
    (void) prctl (PR_SET_NAME, "sliceup-worker"); /* the kernel's name for it is a descriptor's number */
}

const char *self_executable_path (struct arena *arena)
{
    char path[PATH_MAX];
    if (pieces_n)
        return image_file && image_file[0] == '/' ? image_file : NULL;
    ssize_t len = readlink ("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return NULL;
    path[len] = '\0';
    return arena_copy (arena, path, (size_t) len + 1);
}

bool self_image_fds (int *first, int *n)
{
    *first = IMAGE_FD_FIRST;
    *n = pieces_n;
    return pieces_n > 0;
}

void self_keep_image_open (void)
{
    for (int i = 0; i < pieces_n; i++)
        (void) fcntl (IMAGE_FD_FIRST + i, F_SETFD, 0); /* open descriptors have flags */
}

struct self_exec self_make_exec (char *const *argv, struct arena *arena)
{
    size_t argc = 0;
    while (argv[argc])
        argc++;
    char **words = arena_array (arena, argc + LOADER_LEAD_WORDS + 1, sizeof *words);
    if (!pieces_n) {
        memcpy (words, argv, argc * sizeof *argv);
        return (struct self_exec){ "/proc/self/exe", words };
    }
    struct loader_paths *lead = arena_alloc (arena, sizeof *lead);
    loader_lead (lead, pieces_n, argv[0], words);
    memcpy (words + LOADER_LEAD_WORDS, argv + 1, (argc - 1) * sizeof *argv);
    return (struct self_exec){ lead->loader, words };
}

void self_become_else (char **words, int status, const char *why)
{
    size_t n = 0;
    while (words[n])
        n++;
    if (n < 5 || strcmp (words[0], "join") != 0 || strcmp (words[1], "--else") != 0)
        return;
    words[n - 2] = (char[]){ (char) ('0' + status), '\0' };
    words[n - 1] = (char *) (uintptr_t) why;
    execv (words[2], words + 2);
}

/* ---- the loader's command line ---- */

void loader_lead (struct loader_paths *words, int n, const char *argv0, char **out)
{
    size_t len = 0;
    assert (n > IMAGE_LIBRARIES && n <= IMAGE_PIECES_MAX);
    for (int i = IMAGE_LIBRARIES; i < n; i++)
        len += (size_t) snprintf (words->libraries + len, sizeof words->libraries - len, "%s/proc/self/fd/%d",
                                  i > IMAGE_LIBRARIES ? ":" : "", IMAGE_FD_FIRST + i);
    snprintf (words->loader, sizeof words->loader, "/proc/self/fd/%d", IMAGE_FD_FIRST + IMAGE_LOADER);
    snprintf (words->program, sizeof words->program, "/proc/self/fd/%d", IMAGE_FD_FIRST + IMAGE_PROGRAM);
    char *const lead[LOADER_LEAD_WORDS] = { (char *) "sliceup-worker",
                                            (char *) "--inhibit-cache",
                                            (char *) "--preload",
                                            words->libraries,
                                            (char *) "--argv0",
                                            (char *) argv0,
                                            words->program };
    for (int i = 0; i < LOADER_LEAD_WORDS; i++)
        out[i] = lead[i];
}

/* ---- the words of its commands ---- */

static const struct word_option *word_option_find (const struct word_option *options, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen (options[i].name);
        if (strncmp (word, options[i].name, len) == 0 && (!word[len] || (word[len] == '=' && options[i].value)))
            return &options[i];
    }
    return NULL;
}

int word_options_read (int argc, char **argv, const struct word_option *options, size_t n, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        const struct word_option *option = word_option_find (options, n, argv[i]);
        if (!option)
            return err_set (err, ERR_USAGE, "unknown option %.100s", argv[i]);
        const char *joined = strchr (argv[i], '=');
        if (!option->value)
            *option->set = true;
        else if (!joined && i + 1 == argc)
            return err_set (err, ERR_USAGE, "%s needs a value", option->name);
        else if (option->n && *option->n == option->most)
            return err_set (err, ERR_USAGE, "%s is given more than %u times", option->name, option->most);
        else
            option->value[option->n ? (*option->n)++ : 0] = joined ? joined + 1 : argv[++i];
    }
    return 0;
}
