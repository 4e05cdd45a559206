/* signature_lists.h - the shipped signatures, all lists of them, as a plan gets them. */
#ifndef SLICEUP_TESTS_LIB_SIGNATURE_LISTS_H
#define SLICEUP_TESTS_LIB_SIGNATURE_LISTS_H

#include <unistd.h>

#include "common/conf/conf.h"
#include "common/logs/signature.h"
#include "test.h"

static inline void signature_lists_load (struct arena *arena, struct plan *plan)
{
    char slice[] = "/tmp/sliceup-signatures-XXXXXX";
    struct conf_report report;
    struct err err = { 0 };
    int fd = mkstemp (slice);
    assert_true (fd >= 0);
    FILE *file = fdopen (fd, "w");
    assert_non_null (file);
    assert_true (fputs ("slice: s\nhosts: h[0-7]\nprofile: plain\nladder: plain\n"
                        "signatures: [xla, jax, torch_xla, torch, gpu, training, cluster, system]\n",
                        file) >= 0);
    assert_int_equal (fclose (file), 0);
    struct conf_options options = {
        .slice_path = slice, .share_dir = SLICEUP_SOURCE_DIR, .home = "/h", .user_home = "/u"
    };
    int result = conf_load (&options, arena, plan, &report, &err);
    assert_int_equal (unlink (slice), 0);
    if (result != 0)
        fail_msg ("%s", err.text);
}

#endif
