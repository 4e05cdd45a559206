/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/base/digest.h"

/* Alone in its program: libcrypto reads its configuration once, at the first use. */
static void a_digest_needs_nothing_that_openssl_cnf_of_the_host_names (void **state)
{
    static const char conf[] = "openssl_conf = o\n[o]\nproviders = p\n[p]\nelsewhere = e\n[e]\nactivate = 1\n";
    char path[32], hex[DIGEST_HEX_BYTES];
    (void) state;
    int fd = memfd_create ("openssl.cnf", MFD_CLOEXEC);
    assert_int_equal (write (fd, conf, sizeof conf - 1), sizeof conf - 1);
    snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal (setenv ("OPENSSL_CONF", path, 1), 0);
    struct digest empty = digest_of ("", 0);
    close (fd);
    /* FIPS 180-4, of no bytes */
    assert_string_equal (digest_hex (&empty, hex), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (a_digest_needs_nothing_that_openssl_cnf_of_the_host_names) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
