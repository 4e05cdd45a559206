/* msg.c - the tables of messages. Keys are for ever; what HELLO and REFUSE have never changes, so that versions that do
 * not understand each other can still say so. */
#include "common/model/msg.h"

/* A heartbeat above one hour is useless. */
enum {
    HEARTBEAT_MAX_MS = 60 * 60 * 1000,
    NONCE_MAX_BYTES = 64,
    LEASE_MAX_MS = 60 * 60 * 1000,
    GIVER_KEY_MAX_BYTES = 40
};
#define COUNT_MAX ((uint64_t) INT64_MAX)
/* Integers up to here are exact in a double, which is how a program may carry its secret; differences do not overflow. */
#define SECRET_MAX (1ull << 53)

const struct enum_names attempt_state_names = NAMED ("none", "running", "at-gate", "stopping", "ended");
const struct enum_names gate_mode_names = NAMED ("none", "share", "agree");
const struct enum_names fetch_word_names = NAMED ("want", "going", "have", "failed", "damaged", "slow");
const struct enum_names cache_role_names = NAMED ("none", "reader", "writer", "own");

static const struct field holding_fields[] = {
    F_RECORD (1, struct holding, key, &attempt_key_record),
    F_ENUM (2, struct holding, state, &attempt_state_names),
    F_TEXT (3, struct holding, phase, WORD_MAX_BYTES),
    F_U64 (4, struct holding, phase_ms, COUNT_MAX),
    F_TEXT (5, struct holding, gate, WORD_MAX_BYTES),
    F_ENUM (6, struct holding, gate_mode, &gate_mode_names),
    F_TEXT (7, struct holding, gate_value, GATE_VALUE_MAX_BYTES),
    F_TEXT (8, struct holding, stand, STAND_MAX_BYTES),
    F_U64 (9, struct holding, stand_ms, COUNT_MAX),
};
const struct record holding_record = RECORD ("holding", struct holding, holding_fields);

static const struct field hello_fields[] = {
    F_TEXT (1, struct msg_hello, host, HOST_NAME_MAX_BYTES),
    F_TEXT (2, struct msg_hello, version, ID_MAX_BYTES),
    F_U64 (3, struct msg_hello, pid, COUNT_MAX),
    F_U64 (4, struct msg_hello, pid_start, COUNT_MAX),
    F_TEXT (5, struct msg_hello, boot_id, ID_MAX_BYTES),
    F_LIST (6, struct msg_hello, holdings, HOLDINGS_MAX, &holding_record),
    F_U64 (7, struct msg_hello, told_epoch, UINT64_MAX),
    F_U64 (8, struct msg_hello, told_index, UINT64_MAX),
    F_U64 (9, struct msg_hello, asked_ms, COUNT_MAX),
};

static const struct field heartbeat_fields[] = {
    F_U64 (1, struct msg_heartbeat, beat, COUNT_MAX),
    F_LIST (2, struct msg_heartbeat, holdings, HOLDINGS_MAX, &holding_record),
    F_U64 (3, struct msg_heartbeat, lease_token, COUNT_MAX),
    F_U64 (4, struct msg_heartbeat, lease_ask, COUNT_MAX),
    F_U64 (5, struct msg_heartbeat, asked_ms, COUNT_MAX),
};

uint64_t log_live_bytes (uint64_t limit_bytes)
{
    return limit_bytes - (limit_bytes / 2 < LOG_END_MAX_BYTES ? limit_bytes / 2 : LOG_END_MAX_BYTES);
}

static const struct field log_fields[] = { F_RECORD (1, struct msg_log, key, &attempt_key_record),
                                           F_U64 (2, struct msg_log, offset, COUNT_MAX),
                                           F_BYTES (3, struct msg_log, bytes, LOG_CHUNK_MAX_BYTES) };

static const struct field bye_fields[] = { F_TEXT (1, struct msg_bye, why, TEXT_MAX_BYTES) };

static const struct field fetch_fields[] = { F_TEXT (1, struct msg_fetch, sha256, SHA256_HEX_BYTES),
                                             F_U64 (2, struct msg_fetch, offset, WHEEL_MAX_BYTES),
                                             F_ENUM (3, struct msg_fetch, word, &fetch_word_names),
                                             F_U32 (4, struct msg_fetch, port, UINT16_MAX),
                                             F_TEXT (5, struct msg_fetch, key, GIVER_KEY_MAX_BYTES) };

static const struct field welcome_fields[] = { F_U64 (1, struct msg_welcome, heartbeat_ms, HEARTBEAT_MAX_MS),
                                               F_RECORD (2, struct msg_welcome, limits, &limits_record),
                                               F_U64 (3, struct msg_welcome, index, UINT64_MAX),
                                               F_U64 (4, struct msg_welcome, asked_ms, COUNT_MAX),
                                               F_U64 (5, struct msg_welcome, wall_ms, SECRET_MAX),
                                               F_U64 (6, struct msg_welcome, pid, COUNT_MAX),
                                               F_U64 (7, struct msg_welcome, pid_start, COUNT_MAX) };

static const struct field refuse_fields[] = { F_TEXT (1, struct msg_refuse, why, TEXT_MAX_BYTES),
                                              F_U32 (2, struct msg_refuse, major, UINT32_MAX),
                                              F_U32 (3, struct msg_refuse, minor, UINT32_MAX) };

static const struct field cache_access_fields[] = {
    F_ENUM (1, struct cache_access, role, &cache_role_names),
    F_TEXT (2, struct cache_access, frontend_root, PATH_MAX_BYTES),
    F_U64 (3, struct cache_access, token, COUNT_MAX),
    F_TEXT (4, struct cache_access, sha256, SHA256_HEX_BYTES),
    F_U64 (5, struct cache_access, base, COUNT_MAX),
    F_TEXT (6, struct cache_access, base_sha256, SHA256_HEX_BYTES),
    F_ENUM (7, struct cache_access, least, &enforcement_names),
    F_BOOL (8, struct cache_access, overlay),
    F_U64 (9, struct cache_access, lease_ms, LEASE_MAX_MS),
    F_TEXTS (10, struct cache_access, writable, WRITABLE_MAX, PATH_MAX_BYTES),
    F_TEXTS (11, struct cache_access, protected, PROTECTED_MAX, PATH_MAX_BYTES),
    F_TEXTS (12, struct cache_access, hidden, HIDDEN_MAX, PATH_MAX_BYTES),
    F_U32S (13, struct cache_access, trust, TRUST_MAX, TRUST_UID_MAX),
};
static const struct record cache_access_record = RECORD ("cache", struct cache_access, cache_access_fields);

static const struct field run_fields[] = {
    F_RECORD (1, struct msg_run, key, &attempt_key_record),
    F_TEXT (2, struct msg_run, nonce, NONCE_MAX_BYTES),
    F_RECORD (3, struct msg_run, rung, &rung_record),
    F_U32 (4, struct msg_run, rank, HOSTS_MAX - 1),
    F_U32 (5, struct msg_run, world, HOSTS_MAX),
    F_TEXT (6, struct msg_run, address, NAME_MAX_BYTES),
    F_LIST (7, struct msg_run, mesh, MESH_AXES_MAX, &axis_record),
    F_U64 (8, struct msg_run, secret, SECRET_MAX),
    F_RECORD (9, struct msg_run, profile, &profile_record),
    F_RECORD (10, struct msg_run, pins, &pins_record),
    F_RECORD (11, struct msg_run, cache, &cache_access_record),
    F_RECORD (12, struct msg_run, signatures, &file_ref_record),
    F_U64 (13, struct msg_run, index, UINT64_MAX),
    F_TEXT (14, struct msg_run, addresses, ADDRESSES_MAX_BYTES),
};

static const struct field go_fields[] = { F_RECORD (1, struct msg_go, key, &attempt_key_record),
                                          F_TEXT (2, struct msg_go, gate, WORD_MAX_BYTES),
                                          F_TEXT (3, struct msg_go, value, GATE_VALUE_MAX_BYTES),
                                          F_U64 (4, struct msg_go, index, UINT64_MAX) };

static const struct field cancel_fields[] = { F_RECORD (1, struct msg_cancel, key, &attempt_key_record),
                                              F_BOOL (2, struct msg_cancel, hard),
                                              F_TEXT (3, struct msg_cancel, why, TEXT_MAX_BYTES),
                                              F_U64 (4, struct msg_cancel, index, UINT64_MAX) };

static const struct field ack_fields[] = { F_RECORD (1, struct msg_ack, key, &attempt_key_record),
                                           F_U64 (2, struct msg_ack, index, UINT64_MAX) };

static const struct field shutdown_fields[] = { F_TEXT (1, struct msg_shutdown, why, TEXT_MAX_BYTES) };

static const struct field giver_fields[] = { F_TEXT (1, struct giver, address, NAME_MAX_BYTES),
                                             F_U32 (2, struct giver, port, UINT16_MAX),
                                             F_TEXT (3, struct giver, key, GIVER_KEY_MAX_BYTES) };
static const struct record giver_record = RECORD ("giver", struct giver, giver_fields);

static const struct field chunk_fields[] = { F_TEXT (1, struct msg_chunk, sha256, SHA256_HEX_BYTES),
                                             F_U64 (2, struct msg_chunk, offset, WHEEL_MAX_BYTES),
                                             F_BYTES (3, struct msg_chunk, bytes, FILE_CHUNK_MAX_BYTES),
                                             F_U64 (4, struct msg_chunk, size_bytes, WHEEL_MAX_BYTES),
                                             F_TEXT (5, struct msg_chunk, problem, SENTENCE_MAX_BYTES),
                                             F_BOOL (6, struct msg_chunk, spread),
                                             F_RECORD (7, struct msg_chunk, giver, &giver_record) };

static const struct field lease_fields[] = { F_U64 (1, struct msg_lease, token, COUNT_MAX),
                                             F_U64 (2, struct msg_lease, ask, COUNT_MAX),
                                             F_U64 (3, struct msg_lease, term_ms, LEASE_MAX_MS) };

static const struct field look_fields[] = { F_RECORD (1, struct msg_look, key, &attempt_key_record) };

static const struct {
    const char *name;
    const struct record *body;
} kinds[] = {
    [MSG_HELLO] = KIND ("hello", struct msg_hello, hello_fields),
    [MSG_HEARTBEAT] = KIND ("heartbeat", struct msg_heartbeat, heartbeat_fields),
    [MSG_RESULT] = { "result", &result_record },
    [MSG_LOG] = KIND ("log", struct msg_log, log_fields),
    [MSG_BYE] = KIND ("bye", struct msg_bye, bye_fields),
    [MSG_FETCH] = KIND ("fetch", struct msg_fetch, fetch_fields),
    [MSG_WELCOME] = KIND ("welcome", struct msg_welcome, welcome_fields),
    [MSG_REFUSE] = KIND ("refuse", struct msg_refuse, refuse_fields),
    [MSG_REHELLO] = { "rehello", NULL },
    [MSG_RUN] = KIND ("run", struct msg_run, run_fields),
    [MSG_GO] = KIND ("go", struct msg_go, go_fields),
    [MSG_CANCEL] = KIND ("cancel", struct msg_cancel, cancel_fields),
    [MSG_RESULT_ACK] = KIND ("result-ack", struct msg_ack, ack_fields),
    [MSG_SHUTDOWN] = KIND ("shutdown", struct msg_shutdown, shutdown_fields),
    [MSG_CHUNK] = KIND ("chunk", struct msg_chunk, chunk_fields),
    [MSG_LEASE] = KIND ("lease", struct msg_lease, lease_fields),
    [MSG_LOOK] = KIND ("look", struct msg_look, look_fields),
};
enum { KINDS_N = sizeof (kinds) / sizeof (kinds[0]) };

bool run_id_valid (struct text id)
{
    bool valid = id.len == 2 * RUN_ID_BYTES;
    for (uint32_t i = 0; i < id.len && valid; i++)
        valid = (id.ptr[i] >= '0' && id.ptr[i] <= '9') || (id.ptr[i] >= 'a' && id.ptr[i] <= 'f');
    return valid;
}

const struct record *msg_record_of_kind (enum msg_kind kind)
{
    return (uint32_t) kind < KINDS_N ? kinds[kind].body : NULL;
}

const char *msg_name (enum msg_kind kind)
{
    return (uint32_t) kind < KINDS_N && kinds[kind].name ? kinds[kind].name : "?";
}

bool msg_is_known (enum msg_kind kind)
{
    return (uint32_t) kind < KINDS_N && kinds[kind].name;
}

bool msg_is_from_worker (enum msg_kind kind)
{
    return msg_is_known (kind) && kind < MSG_WELCOME;
}

static uint64_t *place_of_index (struct msg *msg)
{
    switch (msg->kind) {
    case MSG_WELCOME: return &msg->of.welcome.index;
    case MSG_RUN: return &msg->of.run.index;
    case MSG_GO: return &msg->of.go.index;
    case MSG_CANCEL: return &msg->of.cancel.index;
    case MSG_RESULT_ACK: return &msg->of.ack_result.index;
    default: return NULL;
    }
}

uint64_t msg_recorded_index (const struct msg *msg)
{
    const uint64_t *place = place_of_index ((struct msg *) msg);
    return place ? *place : 0;
}

void msg_set_recorded_index (struct msg *msg, uint64_t index)
{
    uint64_t *place = place_of_index (msg);
    if (place)
        *place = index;
}
