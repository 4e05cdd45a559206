/* plugin.h - a PJRT plugin in this process: its file, its interface checked both ways, and calls into it.
 *
 * Everything here may hang, crash or end the process: it belongs into a child (probe_run.h). What goes wrong is said
 * with child_report.h, and -1 is returned. Nothing that the plugin gives is believed before it was bounded: texts are
 * copied through the kernel, so that a wrong pointer is an answer and not a crash. One thread. */
#ifndef SLICEUP_WORKER_PROBE_PLUGIN_H
#define SLICEUP_WORKER_PROBE_PLUGIN_H

#include "common/base/text.h"
#include "worker/probe/pjrt.h"

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
