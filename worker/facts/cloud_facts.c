/* cloud_facts.c - the place of this host in its slice, from variables, else from the metadata server.
 *
 * Sources: docs.cloud.google.com/tpu/docs, jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py,
 * cloud.google.com/compute/docs/metadata. */
#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/metadata.h"
#include "worker/facts/host_fact_list.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS_MAX = 3, WINDOW_BYTES_MAX = 64, ENDPOINTS_BYTES_MAX = 64 * 1024 };
/* An instance may have 512 KiB of metadata, which grow as JSON. */
enum { WAIT_MS = 100, MOST_WAIT_MS = 10000, ANSWER_BYTES_MAX = 2 * 1024 * 1024 };

/* ---- the metadata server ---- */

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
        return strcmp (named, METADATA_NAME) ? named : METADATA_ADDRESS;
    return google ? METADATA_ADDRESS : NULL;
}

/* GCE_METADATA_TIMEOUT, whole seconds, as google-auth has it. */
static uint64_t server_limit_ms (void)
{
    uint64_t seconds;
    if (!text_to_u64 (text_of (getenv ("GCE_METADATA_TIMEOUT")), &seconds) || seconds == 0)
        return WAIT_MS;
    return seconds < MOST_WAIT_MS / 1000 ? seconds * 1000 : MOST_WAIT_MS;
}

static json_t *instance_of (struct text json)
{
    json_t *instance = json_loadb (json.ptr, json.len, JSON_ALLOW_NUL, NULL);
    /* An unsigned number of 64 bits may be too large for jansson. */
    return instance ? instance : json_loadb (json.ptr, json.len, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
}

/* Asks for all in one answer. A server that is not there is an answer, not an error. */
static struct metadata cloud_facts_ask (bool google)
{
    static const char *const states[] = { [METADATA_NOWHERE] = "not asked",
                                          [METADATA_ABSENT] = "absent",
                                          [METADATA_LATE] = "slow",
                                          [METADATA_STRANGER] = "no metadata server",
                                          [METADATA_ANSWERED] = "answered" };
    const struct metadata_question question = { .server = server_address (google),
                                                .path = "/computeMetadata/v1/instance/?recursive=true",
                                                .limit_ms = server_limit_ms () };
    struct metadata_answer answer = { 0 };
    LOCAL_BUF bytes = { .max = ANSWER_BYTES_MAX };
    enum metadata_server found = question.server ? metadata_ask (&question, &bytes, &answer, NULL) : METADATA_NOWHERE;
    bool told = found == METADATA_ANSWERED && answer.status == 200;
    struct metadata metadata = { .late = found == METADATA_LATE, .instance = told ? instance_of (answer.body) : NULL };
    if (told && !json_is_object (metadata.instance))
        found = METADATA_STRANGER;
    metadata.state = states[found];
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
    struct text rest = item, part;
    return text_cut (&rest, ':', &part) && text_cut (&rest, ':', &part) ? rest : item;
}

static struct text addresses_in (struct host_fact_list *list, struct text endpoints)
{
    struct buf all = { .max = ENDPOINTS_BYTES_MAX };
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
    LOCAL_BUF conflicts = { .max = FACT_VALUE_BYTES };
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
    struct metadata metadata = cloud_facts_ask (google);
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
