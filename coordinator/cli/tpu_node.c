#include "coordinator/cli/planning.h"

#include "common/base/path.h"
#include "common/conf/address.h"
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 100, NODES_SHOWN_MAX = 64, ALIAS_SUFFIX_BYTES = 6 };
#define EXPECTED "expected what gcloud compute tpus tpu-vm describe --format=json prints"

struct reading {
    struct first_slice *slice;
    struct arena *arena;
    struct buf *notes;
    struct err *err;
};

/* "projects/P/locations/Z/nodes/N", or N alone: N, and behind it the options by which gcloud finds it. */
static int read_name (struct reading *reading, const char *path, struct text *name, struct text *found_by)
{
    char project[HOST_NAME_MAX_BYTES + 1], zone[HOST_NAME_MAX_BYTES + 1];
    bool whole = sscanf (path, "projects/%63[^/]/locations/%63[^/]/", project, zone) == 2 &&
                 host_name_valid (text_of (project)) && host_name_valid (text_of (zone));
    *name = text_copy (reading->arena, path_name (text_of (path)));
    *found_by = whole ? text_format (reading->arena, "%s --project=%s --zone=%s", name->ptr, project, zone) : *name;
    return host_name_valid (*name) ? 0
                                   : err_set (reading->err, ERR_PARSE,
                                              "the node's name is '%.*s', expected letters, digits, '.', '_' and '-'",
                                              TEXT_ARG (text_clip (*name, SHOWN_BYTES)));
}

/* The nodes of one request; with a count their names end with numbers. */
static int note_nodes (struct reading *reading, json_t *spec, const char *resource)
{
    const char *parent = "", *id = path_name (text_of (resource)).ptr;
    int n = 0;
    if (json_unpack (spec, "{s?s, s?s, s?{s?i, s?s}, s?{s?i, s?s}}", "parent", &parent, "nodeId", &id,
                     "multisliceParams", "nodeCount", &n, "nodeIdPrefix", &id, "multiNodeParams", "nodeCount", &n,
                     "nodeIdPrefix", &id) != 0)
        return err_set (reading->err, ERR_PARSE, "nodeSpec: " EXPECTED);
    for (int i = 0; i < (n ? n : 1) && i < NODES_SHOWN_MAX; i++) {
        struct text name, found_by, number = n ? text_format (reading->arena, "-%d", i) : TEXT_LIT ("");
        struct text path = text_format (reading->arena, "%s/nodes/%s%.*s", parent, id, TEXT_ARG (number));
        if (read_name (reading, path.ptr, &name, &found_by) != 0)
            return -1;
        buf_printf (reading->notes, "gcloud compute tpus tpu-vm describe %s --format=json > %s.json\n", found_by.ptr,
                    name.ptr);
    }
    return 0;
}

static int refuse_queued (struct reading *reading, json_t *resource)
{
    const char *name = "";
    json_t *specs = NULL;
    if (json_unpack (resource, "{s?s, s:{s:o}}", "name", &name, "tpu", "nodeSpec", &specs) != 0)
        return err_set (reading->err, ERR_PARSE, "tpu: " EXPECTED);
    for (size_t i = 0; i < json_array_size (specs) && i < NODES_SHOWN_MAX; i++)
        if (note_nodes (reading, json_array_get (specs, i), name) != 0)
            return -1;
    return err_set (reading->err, ERR_USAGE,
                    "a queued resource has no addresses: describe its nodes as above; each is a slice");
}

/* gcloud's tpu-vm ssh refuses these states and warns of others. */
static int check_state (struct reading *reading, const char *state)
{
    static const char *const gone[] = { "STOPPED", "STOPPING", "DELETING", "HIDDEN", "PREEMPTED", "TERMINATED" };
    bool ready = strcmp (state, "READY") == 0;
    if (text_is_word (text_of (state), gone, sizeof gone / sizeof gone[0]))
        return err_set (reading->err, ERR_STATE,
                        "the node is %s, expected READY: start it or create it again, then describe it", state);
    buf_escaped_after (reading->notes, "warning: the node is not READY, so hosts may not answer; its state: ",
                       text_of (ready ? "" : state), SHOWN_BYTES);
    buf_puts (reading->notes, ready ? "" : "\n");
    return 0;
}

static void note_health (struct buf *notes, const char *health, const char *why, json_t *symptoms)
{
    bool ill = strcmp (health, "HEALTHY") != 0 && strcmp (health, "HEALTH_UNSPECIFIED") != 0;
    buf_escaped_after (notes, "warning: the node's health is ", text_of (ill ? health : ""), SHOWN_BYTES);
    buf_escaped_after (notes, ": ", text_of (ill ? why : ""), SHOWN_BYTES);
    buf_puts (notes, ill ? "\n" : "");
    for (size_t i = 0; i < json_array_size (symptoms) && i < NODES_SHOWN_MAX; i++) {
        const char *worker = "(not told)", *type = "(not told)", *details = "";
        (void) json_unpack (json_array_get (symptoms, i), "{s?s, s?s, s?s}", "workerId", &worker, "symptomType", &type,
                            "details", &details);
        buf_escaped_after (notes, "warning: worker ", text_of (worker), SHOWN_BYTES);
        buf_escaped_after (notes, " has the symptom ", text_of (type), SHOWN_BYTES);
        buf_escaped_after (notes, ": ", text_of (details), SHOWN_BYTES);
        buf_puts (notes, "\n");
    }
}

/* "V5LITE_POD" is v5litepod; without it, what stands before the number of "v5litepod-16". */
static void read_shape (struct reading *reading, const char *type, const char *family, const char *topology)
{
    struct text number = text_of (type), before = { 0 };
    uint64_t value = 0;
    if (text_cut (&number, '-', &before) && text_to_u64 (number, &value) && value <= UINT16_MAX)
        reading->slice->shape.number = (uint32_t) value;
    char *word = (char *) text_copy (reading->arena, *family ? text_of (family) : before).ptr, *end = word;
    for (const char *at = word; *at; at++)
        if (*at != '_')
            *end++ = (char) tolower ((unsigned char) *at);
    reading->slice->shape.accelerator = (struct text){ word, (uint32_t) (end - word) };
    reading->slice->shape.topology = text_copy (reading->arena, text_of (topology));
}

static int read_worker (struct reading *reading, uint32_t i, json_t *endpoint, bool external)
{
    struct first_host *host = &reading->slice->hosts[i];
    const char *address = "", *outside = "";
    (void) json_unpack (endpoint, "{s?s, s?{s?s}}", "ipAddress", &address, "accessConfig", "externalIp", &outside);
    host->name = text_format (reading->arena, "%.*s-%u", TEXT_ARG (reading->slice->name), i);
    host->address = text_copy (reading->arena, text_of (address));
    host->ssh_address = text_copy (reading->arena, text_of (external ? outside : ""));
    if (address_is_ip (host->address) && (!host->ssh_address.len || address_is_ip (host->ssh_address)))
        return 0;
    return err_set (reading->err, ERR_PARSE, "worker %u has the addresses '%.*s' and '%.*s', expected IP addresses", i,
                    TEXT_ARG (text_clip (host->address, SHOWN_BYTES)),
                    TEXT_ARG (text_clip (host->ssh_address, SHOWN_BYTES)));
}

/* With k networks worker n is entry n * k. */
static int read_workers (struct reading *reading, json_t *endpoints, json_t *networks, bool external)
{
    struct first_slice *slice = reading->slice;
    size_t n = json_array_size (endpoints), k = json_array_size (networks) ? json_array_size (networks) : 1;
    if (n == 0 || n % k != 0 || n / k > HOSTS_MAX)
        return err_set (reading->err, ERR_STATE,
                        "networkEndpoints has %zu entries, expected %zu for each of at most %d workers: "
                        "describe the node when it is READY",
                        n, k, HOSTS_MAX);
    slice->shape.hosts = (uint32_t) (n / k);
    slice->hosts = arena_array (reading->arena, n / k, sizeof *slice->hosts);
    for (uint32_t i = 0; i < slice->shape.hosts; i++)
        if (read_worker (reading, i, json_array_get (endpoints, i * k), external) != 0)
            return -1;
    for (uint32_t i = 0; external && i < slice->shape.hosts; i++)
        if (!slice->hosts[i].ssh_address.len)
            buf_printf (reading->notes, "worker %u has no external address: ssh goes to its internal one\n", i);
    if (host_name_valid (slice->hosts[n / k - 1].name))
        return 0;
    return err_set (reading->err, ERR_USAGE, "its hosts would have names of more than %d bytes: give a --name",
                    HOST_NAME_MAX_BYTES);
}

static int read_node (struct reading *reading, json_t *json, bool external)
{
    const char *path = "", *state = "(not told)", *health = "HEALTHY", *why = "", *type = "", *family = "",
               *topology = "";
    json_t *id = NULL, *endpoints = NULL, *networks = NULL, *symptoms = NULL;
    struct text name;
    uint64_t digits = 0;
    json_t *value;
    const char *key;
    void *next;
    json_object_foreach_safe (json, next, key, value) if (json_is_null (value))
        json_object_del (json, key); /* as good as absent */
    if (json_unpack (json, "{s?s, s?s, s?s, s?s, s?s, s?{s?s, s?s}, s?o, s?o, s?o, s?o}", "name", &path, "state",
                     &state, "health", &health, "healthDescription", &why, "acceleratorType", &type,
                     "acceleratorConfig", "type", &family, "topology", &topology, "id", &id, "networkEndpoints",
                     &endpoints, "networkConfigs", &networks, "symptoms", &symptoms) != 0)
        return err_set (reading->err, ERR_PARSE, "a member has another type; " EXPECTED);
    if (read_name (reading, path, &name, &reading->slice->gcloud) != 0 || check_state (reading, state) != 0)
        return -1;
    reading->slice->name = reading->slice->name.len ? reading->slice->name : name;
    note_health (reading->notes, health, why, symptoms);
    read_shape (reading, type, family, topology);
    if (json_integer_value (id) > 0 || text_to_u64 (text_of (json_string_value (id)), &digits))
        reading->slice->id = text_format (reading->arena, "%" PRIu64,
                                          digits ? digits : (uint64_t) json_integer_value (id));
    return read_workers (reading, endpoints, networks, external);
}

int tpu_node_read (struct text json, bool external, struct arena *arena, struct first_slice *slice, struct buf *notes,
                   struct err *err)
{
    struct reading reading = { slice, arena, notes, err };
    json_error_t where;
    json_auto_t *all = json_loadb (json.ptr, json.len, JSON_REJECT_DUPLICATES, &where);
    json_t *one = json_array_size (all) == 1 ? json_array_get (all, 0) : all;
    /* Resources of Compute Engine tell their kind, such as compute#instance; nodes tell none. */
    const char *kind = json_string_value (
        json_object_get (json_is_array (one) ? json_array_get (one, 0) : one, "kind"));
    int rc = -1;
    if (!all)
        err_set (err, ERR_PARSE, "line %d, column %d: this is not whole JSON; " EXPECTED, where.line, where.column);
    else if (kind)
        err_set (err, ERR_USAGE,
                 "it describes no TPU node but a resource of another kind, %.100s; " EXPECTED
                 "; of machines that are no TPU VMs name the hosts: sliceup init HOSTS",
                 kind);
    else if (json_array_size (one) > 1)
        err_set (err, ERR_USAGE, "it describes %zu nodes, expected one: several slices are not supported yet",
                 json_array_size (one));
    else if (!json_is_object (one))
        err_set (err, ERR_PARSE, "no node is here; " EXPECTED);
    else
        rc = json_object_get (one, "tpu") ? refuse_queued (&reading, one) : read_node (&reading, one, external);
    return rc;
}

/* An alias is tpu.<id>-<worker>, and -<the last six characters of the key> when gcloud could read the key elsewhere. */
void tpu_node_find_aliases (struct text known_hosts, struct arena *arena, struct first_slice *slice, struct buf *notes)
{
    struct text *missing = arena_array (arena, slice->shape.hosts, sizeof *missing);
    struct text prefix = text_format (arena, "tpu.%.*s-", TEXT_ARG (slice->id));
    char *rest = NULL, *file = (char *) text_copy (arena, known_hosts).ptr;
    uint32_t n = 0;
    for (char *word = strtok_r (file, " \t\r\n,", &rest); word; word = strtok_r (NULL, " \t\r\n,", &rest)) {
        if (!text_starts (text_of (word), prefix.ptr) || !isdigit ((unsigned char) word[prefix.len]))
            continue;
        char *suffix;
        unsigned long worker = strtoul (word + prefix.len, &suffix, 10);
        bool whole = !*suffix || (*suffix == '-' && strlen (suffix) == 1 + ALIAS_SUFFIX_BYTES);
        if (whole && worker < slice->shape.hosts && host_key_alias_is_good (text_of (word)))
            slice->hosts[worker].host_key_alias = text_of (word);
    }
    for (uint32_t i = 0; i < slice->shape.hosts; i++)
        if (!slice->hosts[i].host_key_alias.len) {
            slice->hosts[i].host_key_alias = text_format (arena, "%.*s%u", TEXT_ARG (prefix), i);
            missing[n++] = slice->hosts[i].name;
        }
    struct text folded = hostset_folded (missing, n, UINT32_MAX, arena);
    if (n > 0)
        buf_printf (notes,
                    "gcloud knows no host keys of %.*s: run gcloud compute tpus tpu-vm ssh %.*s --worker=all "
                    "--command=true, and sliceup init again\n",
                    TEXT_ARG (folded), TEXT_ARG (slice->gcloud));
}
