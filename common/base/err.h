/* err.h - the description of one failed operation.
 *
 * A function that can fail takes a `struct err *` last, returns 0 or -1, and on -1 has left a code and one sentence
 * there: what failed, where, what was expected. Setting an error returns -1, so failing and explaining are one
 * statement: `return err_set (err, ERR_CONFIG, "%s:%d: ...", file, line);`. A NULL `err` is allowed everywhere.
 * An answer ("held by another host") is not an error; answers are enums. */
#ifndef SLICEUP_COMMON_BASE_ERR_H
#define SLICEUP_COMMON_BASE_ERR_H

enum err_code {
    ERR_NONE = 0,
    ERR_USAGE,   /* the command line */
    ERR_CONFIG,  /* a configuration file, or a combination of them */
    ERR_PARSE,   /* bytes from outside that are not what they should be */
    ERR_LIMIT,   /* a bound was passed */
    ERR_STATE,   /* not now: something is in the wrong state for this */
    ERR_IO,      /* the operating system said no; the text holds its reason */
    ERR_DAMAGE,  /* durable data is not what we wrote */
    ERR_REFUSED, /* a peer or a rule said no */
};

enum { ERR_TEXT_BYTES = 512 };

struct err {
    enum err_code code;
    char text[ERR_TEXT_BYTES]; /* one sentence, no newline, NUL-terminated */
};

/* Sets code and text; always returns -1. */
int err_set (struct err *err, enum err_code code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* The same with ": <strerror (errno)>" appended; call it next to the system call. */
int err_errno (struct err *err, enum err_code code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* Puts "<prefix>: " in front of the text as the error travels up; always returns -1. */
int err_prefix (struct err *err, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* Advice for an `errno`, to append to its text; empty if there is no general advice. */
const char *err_advice_for_errno (int number);

#endif
