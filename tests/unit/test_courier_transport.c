/* links: courier */
#include "coordinator/courier/transport.h"
#include "test.h"

static void assert_without_jobs (const char *line, const char *expected)
{
    struct buf out;
    buf_init (&out, 256);
    transport_mask_job_ids (text_of (line), &out);
    assert_string_equal (buf_c (&out), expected);
    buf_release (&out);
}

TEST (numbers_of_jobs_are_left_out_of_a_line)
{
    assert_without_jobs ("srun: job 9 queued and waiting for resources", "srun: job queued and waiting for resources");
    assert_without_jobs ("srun: error: Unable to create step for job 12: Invalid job id specified",
                         "srun: error: Unable to create step for job: Invalid job id specified");
    assert_without_jobs ("srun: Job 7 step creation disabled", "srun: Job step creation disabled");
    assert_without_jobs ("srun: Job allocation 31 has been revoked", "srun: Job allocation has been revoked");
    assert_without_jobs ("slurmstepd: *** STEP 41.0 ON h1 CANCELLED", "slurmstepd: *** STEP ON h1 CANCELLED");
    assert_without_jobs ("StepId=9.0 and JobId=9.", "StepId= and JobId=.");
    assert_without_jobs ("ended job 8", "ended job");
}

TEST (other_numbers_stay)
{
    assert_without_jobs ("", "");
    assert_without_jobs ("5 nodes", "5 nodes");
    assert_without_jobs ("srun: error: port 6817: error 111", "srun: error: port 6817: error 111");
    assert_without_jobs ("a job for 3 hosts, job x9", "a job for 3 hosts, job x9");
}

static void assert_last_line (const char *received, const char *expected)
{
    struct text last = transport_last_line (text_of (received));
    assert_text (last, expected);
}

TEST (the_last_line_is_the_one_that_says_something)
{
    assert_last_line ("", "");
    assert_last_line ("\n\n", "");
    assert_last_line ("one", "one");
    assert_last_line ("one\ntwo\n\n", "two");
}
