/* cloud_facts.c - the place of this host in its slice, from variables, else from the metadata server.
 *
 * Sources: docs.cloud.google.com/tpu/docs, jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py,
 * cloud.google.com/compute/docs/metadata. */
#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/model/result.h"
#include "worker/facts/host_fact_list.h"
#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { WAYS_MAX = 3, WINDOW_BYTES_MAX = 64, ENDPOINTS_BYTES_MAX = 64 * 1024, ADDRESS_BYTES_MAX = 255 };
/* An instance may have 512 KiB of metadata, which grow as JSON. */
enum { WAIT_MS = 100, MOST_WAIT_MS = 10000, ANSWER_BYTES_MAX = 2 * 1024 * 1024 };

/* ---- the metadata server ---- */

#define SERVER_ADDRESS "169.254.169.254"
#define SERVER_NAME "metadata.google.internal"
/* Asks for all in one answer. HTTP/1.0, so it ends with the connection, unchunked. The server requires the flavor
 * header. */
static const char metadata_request[] = "GET /computeMetadata/v1/instance/?recursive=true HTTP/1.0\r\n"
                                       "Host: " SERVER_NAME "\r\nMetadata-Flavor: Google\r\n"
                                       "User-Agent: sliceup-worker\r\n\r\n";

struct metadata {
    const char *state; /* docs/spec/facts.md, metadata.state */
    bool late;         /* the server was slow, which is no evidence of absence */
    json_t *instance;  /* what it told; NULL: nothing */
};

/* GCE_METADATA_HOST as in google-auth: a host, with or without a port. Never resolves names, which is slow. */
static const char *server_address (bool google)
{
    const char *skip = getenv ("TPU_SKIP_MDS_QUERY"), *named = getenv ("GCE_METADATA_HOST");
    /* Any text counts, "0" too, as it does for torch_xla (torch_xla/_internal/tpu.py). */
    if (skip && *skip)
        return NULL;
    if (named && *named)
        return strcmp (named, SERVER_NAME) ? named : SERVER_ADDRESS;
    return google ? SERVER_ADDRESS : NULL;
}

/* GCE_METADATA_TIMEOUT, whole seconds, as google-auth has it. */
static uint64_t server_limit_ms (void)
{
    uint64_t seconds;
    if (!text_to_u64 (text_of (getenv ("GCE_METADATA_TIMEOUT")), &seconds) || seconds == 0)
        return WAIT_MS;
    return seconds < MOST_WAIT_MS / 1000 ? seconds * 1000 : MOST_WAIT_MS;
}

/* "host", "host:port", "[host]:port" with a number for a host; a bare IPv6 address has more than one colon. */
static bool split_address (const char *address, char host[ADDRESS_BYTES_MAX + 1], char port[8])
{
    const char *colon = strrchr (address, ':'), *shut = strchr (address, ']');
    bool bracketed = address[0] == '[' && shut;
    bool has_port = colon && (bracketed ? colon == shut + 1 : strchr (address, ':') == colon);
    struct text number = has_port ? text_of (colon + 1) : TEXT_LIT ("80");
    const char *from = bracketed ? address + 1 : address;
    const char *to = bracketed ? shut : has_port ? colon : address + strlen (address);
    uint64_t value;
    return text_to_u64 (number, &value) && value > 0 && value < 65536 && text_to_c (number, port, 8) &&
           text_to_c ((struct text){ from, (uint32_t) (to - from) }, host, ADDRESS_BYTES_MAX + 1);
}

static struct addrinfo *find_server (const char *address)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found;
    char host[ADDRESS_BYTES_MAX + 1], port[8];
    bool good = strlen (address) <= ADDRESS_BYTES_MAX && split_address (address, host, port) &&
                !getaddrinfo (host, port, &hints, &found);
    return good ? found : NULL;
}

/* Waits for one of `events`; false: the time is over. */
static bool wait_server (int fd, short events, uint64_t until_ms)
{
    struct pollfd there = { .fd = fd, .events = events };
    uint64_t now_ms = clock_boot_ms ();
    return now_ms < until_ms && poll (&there, 1, (int) (until_ms - now_ms)) != 0;
}

/* -1: no connection came about. */
static int connect_server (const struct addrinfo *server, uint64_t until_ms)
{
    int fd = socket (server->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), reason = 0;
    socklen_t len = sizeof reason;
    bool begun = fd >= 0 && (!connect (fd, server->ai_addr, server->ai_addrlen) || errno == EINPROGRESS);
    if (begun && wait_server (fd, POLLOUT, until_ms) && !getsockopt (fd, SOL_SOCKET, SO_ERROR, &reason, &len) &&
        !reason)
        return fd;
    fd_close (fd);
    return -1;
}

/* To the end of the connection, or until there is too much of it; false: the time is over. */
static bool read_answer (int fd, uint64_t until_ms, struct buf *answer)
{
    char chunk[4096];
    for (ssize_t got = 1; got != 0 && !answer->overflow;) {
        if (!wait_server (fd, POLLIN, until_ms))
            return false;
        got = recv (fd, chunk, sizeof chunk, 0);
        if (got > 0)
            buf_add (answer, chunk, (size_t) got);
        else if (got < 0 && errno != EAGAIN && errno != EINTR)
            return true;
    }
    return true;
}

/* Any machine may answer on that address; only the real server sends this header. */
static bool is_google_server (struct text head)
{
    static const char name[] = "metadata-flavor:";
    while (head.len) {
        struct text line = text_take_until (&head, '\n');
        if (line.len >= sizeof name - 1 && !strncasecmp (line.ptr, name, sizeof name - 1))
            return text_is (text_trimmed ((struct text){ line.ptr + sizeof name - 1, line.len - (sizeof name - 1) }),
                            "Google");
    }
    return false;
}

static const char *understand_answer (struct text answer, json_t **instance)
{
    static const char stranger[] = "no metadata server";
    struct text body = answer;
    uint32_t end;
    if (!text_starts (answer, "HTTP/1.") || !text_find (answer, TEXT_LIT ("\r\n\r\n"), &end) ||
        !is_google_server ((struct text){ answer.ptr, end }))
        return stranger;
    struct text status = text_take_until (&body, '\n');
    if (!text_find (status, TEXT_LIT (" 200 "), NULL))
        return "answered";
    const char *json = answer.ptr + end + 4;
    *instance = json_loadb (json, answer.len - end - 4, JSON_ALLOW_NUL, NULL);
    if (*instance == NULL) /* an unsigned number of 64 bits may be too large for jansson */
        *instance = json_loadb (json, answer.len - end - 4, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    return json_is_object (*instance) ? "answered" : stranger;
}

/* Asks over an open connection, and closes it. */
static void ask_server (struct metadata *metadata, int fd, uint64_t until_ms)
{
    struct buf answer;
    buf_init (&answer, ANSWER_BYTES_MAX);
    bool sent = send (fd, metadata_request, sizeof metadata_request - 1, MSG_NOSIGNAL) == sizeof metadata_request - 1;
    metadata->late = sent && !read_answer (fd, until_ms, &answer);
    metadata->state = metadata->late ? "slow" : understand_answer (buf_as_text (&answer), &metadata->instance);
    buf_release (&answer);
    fd_close (fd);
}

/* A server that is not there is an answer, not an error. */
static struct metadata metadata_ask (bool google)
{
    const char *address = server_address (google);
    struct addrinfo *server = address ? find_server (address) : NULL;
    uint64_t until_ms = clock_boot_ms () + server_limit_ms ();
    struct metadata metadata = { .state = server ? "absent" : "not asked" };
    int fd = server ? connect_server (server, until_ms) : -1;
    if (fd >= 0)
        ask_server (&metadata, fd, until_ms);
    if (server)
        freeaddrinfo (server);
    return metadata;
}

/* A text or a number of the instance or a folder of it; empty: not there. Not cleaned: the code that shows it does
 * that. */
static struct text metadata_value (struct host_fact_list *list, const struct metadata *metadata, const char *folder,
                                   const char *name)
{
    const json_t *from = folder ? json_object_get (metadata->instance, folder) : metadata->instance;
    const json_t *value = json_object_get (from, name);
    if (json_is_integer (value))
        return text_format (&list->arena, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
    if (!json_is_string (value))
        return (struct text){ 0 };
    return text_trimmed ((struct text){ json_string_value (value), (uint32_t) json_string_length (value) });
}

/* ---- the slice ---- */

#define ATTRIBUTES "attributes"
#define ENDPOINTS "worker-network-endpoints"

/* From torch_xla/_internal/tpu.py, jax/_src/clusters/cloud_tpu_cluster.py and GKE's pages; the first counts. */
static const struct known {
    const char *fact;
    const char *variables[WAYS_MAX];
    const char *attribute; /* of the metadata; NULL: none of its own */
    const char *in_tpu_env[WAYS_MAX];
} table[] = {
    { "tpu.worker_id", { "TPU_WORKER_ID", "CLOUD_TPU_TASK_ID" }, "agent-worker-number", { "WORKER_ID" } },
    { "tpu.worker_hostnames", { "TPU_WORKER_HOSTNAMES" }, ENDPOINTS, { NULL } },
    { "tpu.accelerator_type", { "TPU_ACCELERATOR_TYPE" }, "accelerator-type", { "ACCELERATOR_TYPE" } },
    { "tpu.topology", { "TPU_TOPOLOGY" }, NULL, { "TOPOLOGY" } },
    { "tpu.chips_per_host_bounds",
      { "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS" },
      NULL,
      { "CHIPS_PER_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS" } },
    { "tpu.host_bounds", { "TPU_HOST_BOUNDS", "TPU_PROCESS_BOUNDS" }, NULL, { "HOST_BOUNDS", "TPU_PROCESS_BOUNDS" } },
};

/* ---- both ways ---- */

static struct text from_variables (struct host_fact_list *list, const struct known *known)
{
    for (size_t i = 0; i < WAYS_MAX && known->variables[i]; i++) {
        const char *value = getenv (known->variables[i]);
        if (value && *value)
            return host_fact_one_line (&list->arena, text_of (value));
    }
    return (struct text){ 0 };
}

/* tpu-env has lines as "KEY: 'value'". It is YAML, and jax reads it line by line, too. */
static struct text in_tpu_env (struct text file, const char *key)
{
    struct text value = { 0 };
    if (!host_fact_find_field (file, key, &value))
        return value;
    if (value.len >= 2 && value.ptr[0] == '\'' && value.ptr[value.len - 1] == '\'')
        value = (struct text){ value.ptr + 1, value.len - 2 };
    return value;
}

/* The address of "hostname:uid:address"; other forms are unchanged. */
static struct text address_in (struct text item)
{
    const char *end = item.ptr + item.len, *first = memchr (item.ptr, ':', item.len);
    const char *second = first ? memchr (first + 1, ':', (size_t) (end - first - 1)) : NULL;
    return second ? (struct text){ second + 1, (uint32_t) (end - second - 1) } : item;
}

static struct text addresses_in (struct host_fact_list *list, struct text endpoints)
{
    struct buf all;
    buf_init (&all, ENDPOINTS_BYTES_MAX);
    for (bool first = true; endpoints.len; first = false) {
        if (!first)
            buf_byte (&all, ',');
        buf_add_text (&all, address_in (text_take_until (&endpoints, ',')));
    }
    return buf_finish (&all, &list->arena);
}

static struct text from_metadata (struct host_fact_list *list, const struct known *known, const struct metadata *said)
{
    struct text value = { 0 }, env = metadata_value (list, said, ATTRIBUTES, "tpu-env");
    if (known->attribute)
        value = metadata_value (list, said, ATTRIBUTES, known->attribute);
    if (known->attribute && !strcmp (known->attribute, ENDPOINTS))
        value = addresses_in (list, value);
    for (size_t i = 0; i < WAYS_MAX && known->in_tpu_env[i] && !value.len; i++)
        value = in_tpu_env (env, known->in_tpu_env[i]);
    return host_fact_one_line (&list->arena, value);
}

/* Refuses a cut list of workers, which would be counted as complete. */
static struct text whole_or_none (struct host_fact_list *list, struct text value)
{
    if (value.len <= host_fact_value_room (list))
        return value;
    struct text digest = host_fact_words_digest (&list->arena, value);
    return text_format (&list->arena, "unreadable (%u bytes, words %.*s)", value.len, TEXT_ARG (digest));
}

/* Host names and addresses of the same hosts differ, so they are not compared. */
static bool conflict (const struct known *known, struct text said, struct text told)
{
    return strcmp (known->fact, "tpu.worker_hostnames") && said.len && told.len && !text_equal (said, told);
}

static void cloud_facts_add_place (struct host_fact_list *list, const struct metadata *metadata)
{
    struct buf conflicts;
    buf_init (&conflicts, FACT_VALUE_BYTES);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text said = from_variables (list, &table[i]), told = from_metadata (list, &table[i], metadata);
        struct text known = said.len ? said : told;
        bool late = !known.len && metadata->late;
        host_fact_add (list, table[i].fact, late ? TEXT_LIT (FACT_NOT_REPORTED) : whole_or_none (list, known));
        if (conflict (&table[i], said, told))
            buf_printf (&conflicts, "%s%s", conflicts.len ? ", " : "", table[i].fact);
    }
    host_fact_add (list, "tpu.conflicts",
                   conflicts.len ? text_copy (&list->arena, buf_as_text (&conflicts)) : TEXT_LIT ("none"));
    buf_release (&conflicts);
}

/* ---- the machine, and what is planned for it ---- */

/* "projects/1/zones/us-x/machineTypes/ct6e-standard-4t": the last part. */
static void add_last_part (struct host_fact_list *list, const char *fact, const struct metadata *metadata,
                           const char *folder, const char *name)
{
    struct text value = path_name (metadata_value (list, metadata, folder, name));
    if (metadata->late)
        host_fact_add (list, fact, TEXT_LIT (FACT_NOT_REPORTED));
    else
        host_fact_add (list, fact, host_fact_one_line (&list->arena, text_clip (value, NAME_MAX_BYTES)));
}

/* One member, under the name of the documentation or the one of the REST interface; "?" without. */
static struct text member (struct host_fact_list *list, const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get (object, name);
    value = value ? value : json_object_get (object, other);
    if (!json_is_string (value))
        return TEXT_LIT ("?");
    struct text said = { json_string_value (value), (uint32_t) json_string_length (value) };
    return host_fact_one_line (&list->arena, text_clip (said, WINDOW_BYTES_MAX));
}

/* docs: cloud.google.com/tpu/docs/view-maintenance-notifications; with none pending the object holds only "error".
 * A silent server is no evidence: "none" only if the server reported this machine. */
static struct text maintenance_in (struct host_fact_list *list, const json_t *instance)
{
    const json_t *object = json_object_get (instance, "upcomingMaintenance");
    if (!object)
        return instance ? TEXT_LIT ("none") : TEXT_LIT ("absent");
    if (!json_is_object (object))
        return TEXT_LIT ("unreadable (no JSON object)");
    if (json_object_get (object, "error") || !json_object_size (object))
        return TEXT_LIT ("none");
    struct text type = member (list, object, "maintenanceType", "maintenance_type");
    struct text status = member (list, object, "maintenanceStatus", "maintenance_status");
    struct text from = member (list, object, "windowStartTime", "window_start_time");
    struct text to = member (list, object, "windowEndTime", "window_end_time");
    return text_format (&list->arena, "%.*s %.*s from %.*s to %.*s", TEXT_ARG (type), TEXT_ARG (status),
                        TEXT_ARG (from), TEXT_ARG (to));
}

struct text cloud_facts (struct host_fact_list *list, bool google)
{
    struct metadata metadata = metadata_ask (google);
    struct text plan = metadata.late ? TEXT_LIT (FACT_NOT_REPORTED) : maintenance_in (list, metadata.instance);
    cloud_facts_add_place (list, &metadata);
    host_fact_add (list, "metadata.state", text_of (metadata.state));
    add_last_part (list, "metadata.image", &metadata, NULL, "image");
    add_last_part (list, "metadata.machine_type", &metadata, NULL, "machineType");
    add_last_part (list, "metadata.zone", &metadata, NULL, "zone");
    add_last_part (list, "metadata.instance", &metadata, NULL, "id");
    add_last_part (list, "metadata.preemptible", &metadata, "scheduling", "preemptible");
    host_fact_add (list, "metadata.maintenance", plan);
    json_decref (metadata.instance);
    bool none = metadata.late || text_is (plan, "none") || text_is (plan, "absent") || text_starts (plan, "unreadable");
    return none ? (struct text){ 0 } : text_format (&list->arena, "maintenance is coming: %.*s", TEXT_ARG (plan));
}
