#include "worker/process/loader.h"

#include <assert.h>
#include <stdio.h>

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
