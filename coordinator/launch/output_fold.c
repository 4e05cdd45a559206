#include "coordinator/launch/exec_hosts.h"

#include "common/base/buf.h"
#include "common/base/digest.h"
#include <assert.h>
#include <string.h>

struct output {
    struct buf head;
    char *tail; /* a ring; NULL: the head has all */
    uint64_t bytes;
    char last;                   /* byte */
    struct digest_state *digest; /* NULL: nothing came, or it has ended */
    uint32_t group;
};
struct group {
    struct output_group shown;
    struct digest digest;
    uint64_t bytes;
    char *head, *tail;
};
struct output_fold {
    struct output *outputs;
    struct group *groups;
    uint32_t outputs_n, groups_n, groups_room;
    uint32_t head_bytes, tail_bytes;
};

uint32_t output_fold_kept_bytes (uint32_t hosts_n)
{
    uint32_t each = OUTPUTS_KEPT_BYTES / (hosts_n ? hosts_n : 1);
    return each > OUTPUT_KEPT_BYTES         ? OUTPUT_KEPT_BYTES
           : each < OUTPUT_KEPT_LEAST_BYTES ? OUTPUT_KEPT_LEAST_BYTES
                                            : each;
}

struct output_fold *output_fold_create (uint32_t hosts_n, uint32_t kept_bytes)
{
    struct output_fold *fold = mem_alloc (sizeof *fold);
    fold->outputs = mem_array (hosts_n, sizeof *fold->outputs);
    fold->outputs_n = hosts_n;
    fold->tail_bytes = kept_bytes / 2;
    fold->head_bytes = kept_bytes - fold->tail_bytes;
    for (uint32_t i = 0; i < hosts_n; i++) {
        buf_init (&fold->outputs[i].head, fold->head_bytes);
        fold->outputs[i].group = OUTPUT_NO_GROUP;
    }
    return fold;
}

static void output_fold_release (struct output *output)
{
    if (output->digest)
        (void) digest_end (output->digest);
    output->digest = NULL;
    buf_release (&output->head);
    mem_free (output->tail);
    output->tail = NULL;
}

void output_fold_destroy (struct output_fold *fold)
{
    if (!fold)
        return;
    for (uint32_t i = 0; i < fold->outputs_n; i++)
        output_fold_release (&fold->outputs[i]);
    for (uint32_t i = 0; i < fold->groups_n; i++) {
        mem_free (fold->groups[i].head);
        mem_free (fold->groups[i].tail);
    }
    mem_free (fold->groups);
    mem_free (fold->outputs);
    mem_free (fold);
}

/* ---- while it comes ---- */

/* `at`: how many bytes after the head came before these. */
static void add_to_tail (const struct output_fold *fold, struct output *output, uint64_t at, struct text bytes)
{
    if (bytes.len > fold->tail_bytes) {
        at += bytes.len - fold->tail_bytes;
        bytes = (struct text){ bytes.ptr + bytes.len - fold->tail_bytes, fold->tail_bytes };
    }
    if (!output->tail)
        output->tail = mem_alloc (fold->tail_bytes);
    uint32_t from = (uint32_t) (at % fold->tail_bytes), first = fold->tail_bytes - from;
    first = bytes.len < first ? bytes.len : first;
    memcpy (output->tail + from, bytes.ptr, first);
    memcpy (output->tail, bytes.ptr + first, bytes.len - first);
}

void output_fold_add (struct output_fold *fold, uint32_t host, struct text bytes)
{
    assert (host < fold->outputs_n && fold->outputs[host].group == OUTPUT_NO_GROUP);
    struct output *output = &fold->outputs[host];
    uint32_t room = fold->head_bytes - (uint32_t) output->head.len, taken = bytes.len < room ? bytes.len : room;
    if (bytes.len == 0)
        return;
    if (!output->digest)
        output->digest = digest_begin ();
    digest_add (output->digest, bytes.ptr, bytes.len);
    buf_add (&output->head, bytes.ptr, taken);
    output->bytes += bytes.len;
    output->last = bytes.ptr[bytes.len - 1];
    bytes = (struct text){ bytes.ptr + taken, bytes.len - taken };
    if (bytes.len)
        add_to_tail (fold, output, output->bytes - bytes.len - fold->head_bytes, bytes);
}

/* ---- once it has ended ---- */

/* The ring in its order. */
static void straighten (const struct output_fold *fold, struct group *group, const struct output *output)
{
    uint64_t behind = output->bytes - output->head.len;
    uint32_t len = behind < fold->tail_bytes ? (uint32_t) behind : fold->tail_bytes;
    uint32_t from = behind > len ? (uint32_t) (behind % fold->tail_bytes) : 0;
    group->tail = mem_alloc (len);
    memcpy (group->tail, output->tail + from, len - from);
    memcpy (group->tail + len - from, output->tail, from);
    group->shown.tail = (struct text){ group->tail, len };
    group->shown.dropped_bytes = behind - len;
}

static void make_group (struct output_fold *fold, const struct output *output, const struct digest *digest)
{
    fold->groups = mem_room (fold->groups, fold->groups_n, &fold->groups_room, 16, sizeof *fold->groups);
    struct group *group = &fold->groups[fold->groups_n++];
    *group = (struct group){ .digest = *digest, .bytes = output->bytes };
    group->head = mem_alloc (output->head.len);
    if (output->head.len)
        memcpy (group->head, output->head.ptr, output->head.len);
    group->shown.head = (struct text){ group->head, (uint32_t) output->head.len };
    if (output->tail)
        straighten (fold, group, output);
}

void output_fold_end (struct output_fold *fold, uint32_t host)
{
    assert (host < fold->outputs_n && fold->outputs[host].group == OUTPUT_NO_GROUP);
    struct output *output = &fold->outputs[host];
    struct digest digest = { 0 };
    if (output->bytes && output->last != '\n')
        output_fold_add (fold, host, TEXT_LIT ("\n"));
    if (output->digest)
        digest = digest_end (output->digest);
    output->digest = NULL;
    uint32_t at = 0;
    while (at < fold->groups_n &&
           (fold->groups[at].bytes != output->bytes || !digest_equal (&fold->groups[at].digest, &digest)))
        at++;
    if (at == fold->groups_n)
        make_group (fold, output, &digest);
    fold->groups[at].shown.hosts_n++;
    output->group = at;
    output_fold_release (output);
}

uint32_t output_fold_groups (const struct output_fold *fold)
{
    return fold->groups_n;
}

const struct output_group *output_fold_group (const struct output_fold *fold, uint32_t group)
{
    assert (group < fold->groups_n);
    return &fold->groups[group].shown;
}

uint32_t output_fold_group_of (const struct output_fold *fold, uint32_t host)
{
    assert (host < fold->outputs_n);
    return fold->outputs[host].group;
}
