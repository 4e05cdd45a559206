/* fuzz_logs.c - no log of a program crashes its reader or passes the bounds of a result, and in whatever pieces it comes, the
 * same is read. The first byte is the size of the pieces; the signatures are the shipped ones. */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/logs/classify.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 64 * 1024 };

static struct signature_set *shipped (void)
{
    static struct arena of_plan;
    static struct plan plan;
    struct conf_report report;
    struct err err;
    const char slice[] = "slice: s\nhosts: h[0-7]\nprofile: plain\nladder: plain\n"
                         "signatures: [xla, jax, torch_xla, torch, gpu, training, cluster, system]\n";
    struct conf_options options = { .slice_path = "slice",
                                    .slice_text = text_of (slice),
                                    .share_dir = SLICEUP_SOURCE_DIR,
                                    .home = "/h",
                                    .user_home = "/u" };
    int rc = conf_load (&options, &of_plan, &plan, &report, &err);
    assert (rc == 0);
    return signature_set_build (plan.signatures.items, plan.signatures.n);
}

static void check_sound (const struct signature_scan_result *found)
{
    assert (found->sightings_n <= SIGHTINGS_MAX && found->shown_n <= SHOWN_MAX);
    for (uint32_t i = 0; i < found->sightings_n; i++)
        assert (record_check (&sighting_record, &found->sightings[i], NULL));
    for (uint32_t i = 0; i < found->shown_n; i++)
        assert (text_is_utf8 (found->shown[i]));
}

static void check_same (const struct signature_scan_result *a, const struct signature_scan_result *b)
{
    assert (a->sightings_n == b->sightings_n && a->shown_n == b->shown_n && a->frames_n == b->frames_n);
    for (uint32_t i = 0; i < a->sightings_n; i++)
        assert (record_equal (&sighting_record, &a->sightings[i], &b->sightings[i]));
    for (uint32_t i = 0; i < a->shown_n; i++)
        assert (text_equal (a->shown[i], b->shown[i]));
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    static struct signature_set *set;
    static struct arena arena;
    struct signature_scan_result whole, in_pieces;
    struct cause_decision decision;
    if (len < 2 || len > INPUT_MAX_BYTES)
        return 0;
    set = set ? set : shipped ();
    struct text input = { (const char *) bytes + 1, (uint32_t) (len - 1) };
    uint32_t piece = bytes[0] ? bytes[0] : input.len;
    classify_text (set, input, &arena, &whole);
    struct classify_run *run = classify_begin (set);
    for (uint32_t at = 0; at < input.len; at += piece)
        classify_bytes (run, (struct text){ input.ptr + at, input.len - at < piece ? input.len - at : piece });
    classify_end (run, &arena, &in_pieces);
    check_sound (&whole);
    check_same (&whole, &in_pieces);
    cause_decide (set, &whole, &decision);
    arena_reset (&arena);
    return 0;
}
