#include "worker/facts/metadata.h"

#include "common/io/clock.h"
#include "worker/facts/http_asker.h"
#include <stdlib.h>
#include <string.h>

#define ADDRESS "169.254.169.254"
#define SERVER_NAME "metadata.google.internal"
#define INSTANCE "/computeMetadata/v1/instance/"
#define ATTRIBUTES INSTANCE "attributes/"

static const char *const paths[METADATA_KEYS] = { [METADATA_ACCELERATOR_TYPE] = ATTRIBUTES "accelerator-type",
                                                  [METADATA_WORKER_NUMBER] = ATTRIBUTES "agent-worker-number",
                                                  [METADATA_ENDPOINTS] = ATTRIBUTES "worker-network-endpoints",
                                                  [METADATA_TPU_ENV] = ATTRIBUTES "tpu-env",
                                                  [METADATA_MAINTENANCE] = INSTANCE "upcoming-maintenance?alt=json",
                                                  [METADATA_IMAGE] = INSTANCE "image",
                                                  [METADATA_MACHINE_TYPE] = INSTANCE "machine-type",
                                                  [METADATA_ZONE] = INSTANCE "zone",
                                                  [METADATA_INSTANCE] = INSTANCE "id",
                                                  [METADATA_PREEMPTIBLE] = INSTANCE "scheduling/preemptible" };
/* Without the second the server refuses (cloud.google.com/compute/docs/metadata/querying-metadata). */
static const char fields[] = "Host: " SERVER_NAME "\r\nMetadata-Flavor: Google\r\nUser-Agent: sliceup-worker\r\n";

struct metadata {
    struct http_query *query; /* NULL: nobody was asked */
    uint64_t asked_ms;
};

/* GCE_METADATA_HOST as in google-auth: a host, with or without a port. Names are not looked up: that may take long. */
static const char *address_of (bool google)
{
    const char *named = getenv ("GCE_METADATA_HOST");
    if (named && *named)
        return strcmp (named, SERVER_NAME) ? named : ADDRESS;
    return google ? ADDRESS : NULL;
}

struct metadata *metadata_ask (bool google)
{
    const char *skip = getenv ("TPU_SKIP_MDS_QUERY"), *address = address_of (google);
    struct metadata *metadata = mem_alloc (sizeof *metadata);
    metadata->asked_ms = clock_boot_ms ();
    /* Any text counts, "0" too, as it does for torch_xla (torch_xla/_internal/tpu.py). */
    if (address && !(skip && *skip))
        metadata->query = http_ask (address, paths, METADATA_KEYS, fields);
    return metadata;
}

void metadata_poll (struct metadata *metadata)
{
    if (metadata->query)
        http_poll (metadata->query);
}

/* GCE_METADATA_TIMEOUT, whole seconds, as google-auth has it. */
static uint64_t limit_ms (void)
{
    uint64_t seconds;
    if (!text_to_u64 (text_of (getenv ("GCE_METADATA_TIMEOUT")), &seconds) || seconds == 0)
        return METADATA_WAIT_MS;
    return seconds < METADATA_MOST_WAIT_MS / 1000 ? seconds * 1000 : METADATA_MOST_WAIT_MS;
}

void metadata_wait (struct metadata *metadata)
{
    uint64_t spent_ms = clock_boot_ms () - metadata->asked_ms, most_ms = limit_ms ();
    uint64_t left_ms = spent_ms < most_ms ? most_ms - spent_ms : 0;
    /* What took the time was our own reading of files: the server had no say in that. */
    if (metadata->query)
        http_wait (metadata->query, (uint32_t) (left_ms < METADATA_LEAST_WAIT_MS ? METADATA_LEAST_WAIT_MS : left_ms));
}

/* Anybody may answer on that address; only the real server says who it is. */
static bool is_google (const struct http_answer *answer)
{
    struct text flavor;
    return http_field (answer, "metadata-flavor", &flavor) && text_is (flavor, "Google");
}

const char *metadata_state (const struct metadata *metadata)
{
    uint32_t nobody = 0, answered = 0;
    if (!metadata->query)
        return "not asked";
    for (uint32_t i = 0; i < METADATA_KEYS; i++) {
        struct http_answer answer;
        enum http_result end = http_result (metadata->query, i, &answer);
        if (end == HTTP_SLOW || end == HTTP_OPEN)
            return "slow";
        nobody += end == HTTP_NOBODY;
        answered += end == HTTP_ANSWERED && is_google (&answer);
    }
    return nobody == METADATA_KEYS     ? "absent"
           : answered == METADATA_KEYS ? "answered"
           : answered                  ? "answered in part"
                                       : "no metadata server";
}

struct text metadata_value (const struct metadata *metadata, enum metadata_key key)
{
    struct http_answer answer;
    if (!metadata->query || http_result (metadata->query, key, &answer) != HTTP_ANSWERED || answer.status != 200 ||
        !is_google (&answer))
        return (struct text){ 0 };
    while (answer.body.len && strchr (" \t\r\n", answer.body.ptr[answer.body.len - 1]))
        answer.body.len--;
    while (answer.body.len && strchr (" \t\r\n", answer.body.ptr[0]))
        answer.body.ptr++, answer.body.len--;
    return answer.body;
}

bool metadata_is_late (const struct metadata *metadata, enum metadata_key key)
{
    struct http_answer answer;
    return metadata->query && http_result (metadata->query, key, &answer) == HTTP_SLOW;
}

void metadata_release (struct metadata *metadata)
{
    http_release (metadata->query);
    mem_free (metadata);
}
