/* child_report.h - what the plugin process says of its steps to the process that watches it: a record each (subprocess.h).
 *
 * A step is announced before it is begun, so that a plugin that hangs or crashes has named its step. Every step is done
 * once at most. Texts are cut to REPORTER_TEXT_MAX and lose their NULs; they are otherwise as the plugin gave them.
 * Without a reader the process ends. It knows nothing of plugins. One thread. */
#ifndef SLICEUP_WORKER_PROBE_CHILD_REPORT_H
#define SLICEUP_WORKER_PROBE_CHILD_REPORT_H

#include "common/model/outcome.h"
#include "worker/probe/pjrt.h"

/* In the order in which they are done. */
enum probe_stage {
    STAGE_NONE = 0,
    STAGE_FILE,      /* the plugin's file: size, sha256 */
    STAGE_LOAD,      /* dlopen */
    STAGE_INTERFACE, /* GetPjrtApi, versions, sizes, slots */
    STAGE_INITIALIZE,
    STAGE_ATTRIBUTES,
    STAGE_CLIENT,
    STAGE_PLATFORM,
    STAGE_DEVICES,
    STAGE_COMPILE,
    STAGE_TRANSFER,
    STAGE_EXECUTE,
    STAGE_READ,
    STAGE_SERIALIZE,
    STAGE_RELOAD,
    STAGE_EXECUTE_AGAIN,
    STAGE_MEMORY,
    STAGE_CLOSE,
    STAGE_N
};
extern const struct enum_names stage_names;

/* REPORTER_FD is spawn.h's SPAWN_CHANNEL_FD. */
enum { REPORTER_FD = 3, REPORTER_EXIT_CLOSED = 4, REPORTER_NAME_MAX = 63, REPORTER_TEXT_MAX = 4096 };
enum { REPORTER_BYTES_MAX = 256 * 1024 };

enum probe_word {
    PROBE_SAYS_NOTHING = 0,
    PROBE_SAYS_STEP,    /* stage */
    PROBE_SAYS_CALL,    /* name: a function of the plugin, about to be called */
    PROBE_SAYS_VALUE,   /* name, text: something found out */
    PROBE_SAYS_NOTE,    /* text */
    PROBE_SAYS_LACKS,   /* text */
    PROBE_SAYS_REFUSED, /* code, text */
    PROBE_SAYS_WRONG,   /* owner, text */
    PROBE_SAYS_DONE,
};

struct probe_statement {
    enum probe_word word;
    enum probe_stage stage;
    struct text name, text;
    uint32_t code; /* that of the plugin, which may be any int */
    enum owner owner;
};
extern const struct record probe_statement_record;

void child_report_step (enum probe_stage stage);
void child_report_call (const char *function);
void child_report_value (const char *name, struct text value);
void child_report_number (const char *name, int64_t value);
void child_report_note (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
/* The plugin's own error. `lacks`: it has no such function, which is no failure here; 0. */
int child_report_failure (bool lacks, int code, struct text text);
int child_report_refused (int code, struct text text); /* always -1 */
int child_report_wrong (enum owner owner, const char *format, ...) __attribute__ ((format (printf, 2, 3))); /* -1 */
void child_report_done (void);

/* ---- plugin.c: a PJRT plugin in this process: its file, its interface checked both ways, and calls into it ----
 *
 * Everything here may hang, crash or end the process: it belongs into a child (probe_run.h). What goes wrong is said
 * with child_report.h, and -1 is returned. Nothing that the plugin gives is believed before it was bounded: texts are
 * copied through the kernel, so that a wrong pointer is an answer and not a crash. One thread. */

struct plugin {
    const char *path; /* borrowed */
    void *library;
    const struct pjrt_api *api; /* of the plugin; never freed */
    size_t api_bytes;
    int minor;
    int copy_fds[2]; /* a pipe to ourselves: plugin_text */
    struct arena arena;
};

struct plugin_error {
    int code;
    struct text text;
}; /* the plugin's own error */

int plugin_open (struct plugin *plugin, const char *path);  /* file, load, interface */
int plugin_initialize (struct plugin *plugin);              /* initialize, attributes */
bool plugin_has (const struct plugin *plugin, size_t slot); /* its structure covers the slot, and it is not empty */

/* Calls PJRT_Api's function at offset `slot`, announced by name. plugin_call says a refusal; plugin_try returns it. */
int plugin_call (struct plugin *plugin, size_t slot, void *args);
int plugin_try (struct plugin *plugin, size_t slot, void *args, struct plugin_error *refusal);
/* As much as can be read of `bytes` at `ptr`, at most `max`; in the plugin's arena. */
struct text plugin_text (struct plugin *plugin, const char *ptr, size_t bytes, uint32_t max);

/* A client: created with its options, its platform and devices told. */
enum { DEVICES_LISTED_MAX = 65536, DEVICES_COUNTED_MAX = 1024 };

struct client {
    struct plugin *plugin;
    void *client;
    void *device;
}; /* the first device of its own */

int pjrt_client_open (struct client *client, struct plugin *plugin, const struct pjrt_named_value *options, size_t n);
int pjrt_client_report_memory (struct client *client); /* of its device: where the plugin counts it */
int pjrt_client_close (struct client *client);

#endif
