#include "worker/standin/refusal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { REFUSALS = 64 };
static struct refusal given[REFUSALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int refuse (struct refusal *refusal, int code, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    refusal->code = code;
    (void) vsnprintf (refusal->text, sizeof refusal->text, format, args); /* cut: it is for people */
    va_end (args);
    return -1;
}

void *refusal_error (const struct refusal *refusal)
{
    static unsigned next;
    (void) pthread_mutex_lock (&lock);
    struct refusal *place = &given[next++ % REFUSALS];
    *place = *refusal;
    (void) pthread_mutex_unlock (&lock);
    return place;
}

const struct refusal *refusal_of_error (const void *error)
{
    const struct refusal *one = error;
    return one >= given && one < given + REFUSALS ? one : NULL;
}
