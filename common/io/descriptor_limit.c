#include "common/io/descriptor_limit.h"

#include <sys/resource.h>

/* Two connections a host; again as many while the old ones have not been noticed to be gone. */
enum { DESCRIPTORS_A_HOST = 4, DESCRIPTORS_BESIDE = 256 };

int descriptor_limit_raise (uint32_t hosts, struct err *err)
{
    struct rlimit limit;
    rlim_t needed = (rlim_t) hosts * DESCRIPTORS_A_HOST + DESCRIPTORS_BESIDE;
    if (getrlimit (RLIMIT_NOFILE, &limit) != 0)
        return err_errno (err, ERR_IO, "the limit of open files cannot be read");
    if (limit.rlim_cur >= needed)
        return 0;
    if (limit.rlim_max < needed)
        return err_set (err, ERR_LIMIT, "%u hosts need %llu open files, this process may have %llu; raise its hard "
                        "limit (ulimit -Hn, LimitNOFILE=)", hosts, (unsigned long long) needed,
                        (unsigned long long) limit.rlim_max);
    limit.rlim_cur = needed;
    if (setrlimit (RLIMIT_NOFILE, &limit) != 0)
        return err_errno (err, ERR_IO, "the limit of open files cannot be raised to %llu", (unsigned long long) needed);
    return 0;
}
