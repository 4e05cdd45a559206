/* climb.c - when the climb goes on although something does not hold, and when it stops the sooner. */
#include "common/conf/draft.h"

void draft_climb (struct draft *draft)
{
    const struct conf_options *options = draft->options;
    draft->plan.climb = (struct climb_policy){ options->min_hosts, options->keep_going, options->fail_fast };
    if (draft->plan.hosts.n && options->min_hosts > draft->plan.hosts.n)
        problem_add (draft->problems, "--min-hosts", 0, 0,
                     "it asks for %u hosts, expected at most %u, those of this run", options->min_hosts,
                     draft->plan.hosts.n);
}
