/* cloud_facts.c - the place of this host in its slice, as variables tell it, else the metadata server. */
#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/model/result.h"
#include "worker/facts/host_fact_list.h"
#include "worker/facts/metadata.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS_MAX = 3, WINDOW_BYTES_MAX = 64, ENDPOINTS_BYTES_MAX = 64 * 1024 };

/* From torch_xla/_internal/tpu.py, jax/_src/clusters/cloud_tpu_cluster.py and GKE's pages; the first counts. */
static const struct known {
    const char *fact;
    const char *variables[WAYS_MAX];
    int key; /* of the metadata; -1: none of its own */
    const char *in_tpu_env[WAYS_MAX];
} table[] = {
    { "tpu.worker_id", { "TPU_WORKER_ID", "CLOUD_TPU_TASK_ID" }, METADATA_WORKER_NUMBER, { "WORKER_ID" } },
    { "tpu.worker_hostnames", { "TPU_WORKER_HOSTNAMES" }, METADATA_ENDPOINTS, { NULL } },
    { "tpu.accelerator_type", { "TPU_ACCELERATOR_TYPE" }, METADATA_ACCELERATOR_TYPE, { "ACCELERATOR_TYPE" } },
    { "tpu.topology", { "TPU_TOPOLOGY" }, -1, { "TOPOLOGY" } },
    { "tpu.chips_per_host_bounds",
      { "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS" },
      -1,
      { "CHIPS_PER_HOST_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS" } },
    { "tpu.host_bounds", { "TPU_HOST_BOUNDS", "TPU_PROCESS_BOUNDS" }, -1, { "HOST_BOUNDS", "TPU_PROCESS_BOUNDS" } },
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

/* Of "hostname:uid:address" the address; what has not three parts stays as it is. */
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
    struct text value = { 0 }, env = metadata_value (said, METADATA_TPU_ENV);
    if (known->key >= 0)
        value = metadata_value (said, (enum metadata_key) known->key);
    if (known->key == METADATA_ENDPOINTS)
        value = addresses_in (list, value);
    for (size_t i = 0; i < WAYS_MAX && known->in_tpu_env[i] && !value.len; i++)
        value = in_tpu_env (env, known->in_tpu_env[i]);
    return host_fact_one_line (&list->arena, value);
}

/* That a server was slow is no evidence that something is not there (docs/spec/facts.md, metadata.state). */
static bool is_late (const struct known *known, const struct metadata *metadata)
{
    return (known->key >= 0 && metadata_is_late (metadata, (enum metadata_key) known->key)) ||
           (known->in_tpu_env[0] && metadata_is_late (metadata, METADATA_TPU_ENV));
}

/* Half a list of workers would be counted as a list. */
static struct text whole_or_none (struct host_fact_list *list, struct text value)
{
    if (value.len <= host_fact_value_room (list))
        return value;
    struct text digest = host_fact_words_digest (&list->arena, value);
    return text_format (&list->arena, "unreadable (%u bytes, words %.*s)", value.len, TEXT_ARG (digest));
}

/* The names of variables and of addresses are two kinds of names for the same hosts: they are not compared. */
static bool conflict (const struct known *known, struct text said, struct text told)
{
    return known->key != METADATA_ENDPOINTS && said.len && told.len && !text_equal (said, told);
}

static void add_place (struct host_fact_list *list, const struct metadata *metadata)
{
    struct buf conflicts;
    buf_init (&conflicts, FACT_VALUE_BYTES);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text said = from_variables (list, &table[i]), told = from_metadata (list, &table[i], metadata);
        struct text known = said.len ? said : told;
        bool late = !known.len && is_late (&table[i], metadata);
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
static void add_last_part (struct host_fact_list *list, const char *name, const struct metadata *metadata,
                           enum metadata_key key)
{
    struct text value = path_name (metadata_value (metadata, key));
    if (metadata_is_late (metadata, key))
        host_fact_add (list, name, TEXT_LIT (FACT_NOT_REPORTED));
    else
        host_fact_add (list, name, host_fact_one_line (&list->arena, text_clip (value, NAME_MAX_BYTES)));
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
 * Silence is no evidence that nothing is planned: only a server that answered says "none". */
static struct text maintenance_in (struct host_fact_list *list, struct text body, struct text state)
{
    json_error_t why;
    json_t *object = body.len ? json_loadb (body.ptr, body.len, JSON_REJECT_DUPLICATES, &why) : NULL;
    struct text out = text_is (state, "answered") || body.len ? TEXT_LIT ("none") : TEXT_LIT ("absent");
    if (body.len && !json_is_object (object)) {
        out = TEXT_LIT ("unreadable (no JSON object)");
    } else if (object && !json_object_get (object, "error") && json_object_size (object)) {
        struct text type = member (list, object, "maintenanceType", "maintenance_type");
        struct text status = member (list, object, "maintenanceStatus", "maintenance_status");
        struct text from = member (list, object, "windowStartTime", "window_start_time");
        struct text to = member (list, object, "windowEndTime", "window_end_time");
        out = text_format (&list->arena, "%.*s %.*s from %.*s to %.*s", TEXT_ARG (type), TEXT_ARG (status),
                           TEXT_ARG (from), TEXT_ARG (to));
    }
    json_decref (object);
    return out;
}

struct text cloud_facts (struct host_fact_list *list, const struct metadata *metadata)
{
    struct text state = text_of (metadata_state (metadata));
    bool late = metadata_is_late (metadata, METADATA_MAINTENANCE);
    struct text body = metadata_value (metadata, METADATA_MAINTENANCE);
    struct text plan = late ? TEXT_LIT (FACT_NOT_REPORTED) : maintenance_in (list, body, state);
    add_place (list, metadata);
    host_fact_add (list, "metadata.state", state);
    add_last_part (list, "metadata.image", metadata, METADATA_IMAGE);
    add_last_part (list, "metadata.machine_type", metadata, METADATA_MACHINE_TYPE);
    add_last_part (list, "metadata.zone", metadata, METADATA_ZONE);
    add_last_part (list, "metadata.instance", metadata, METADATA_INSTANCE);
    add_last_part (list, "metadata.preemptible", metadata, METADATA_PREEMPTIBLE);
    host_fact_add (list, "metadata.maintenance", plan);
    bool none = late || text_is (plan, "none") || text_is (plan, "absent") || text_starts (plan, "unreadable");
    return none ? (struct text){ 0 } : text_format (&list->arena, "maintenance is coming: %.*s", TEXT_ARG (plan));
}
