/* links: model */
/* test_secret.c - what of a variable's value is shown to nobody. */
#include "common/model/secret.h"
#include "test.h"

static void is_shown (const char *name, const char *value, const char *shown)
{
    struct arena arena = { 0 };
    struct var var = { text_of (name), text_of (value) };
    struct text told = secret_redact_var (&arena, &var);
    assert_int_equal (told.len, strlen (shown));
    assert_memory_equal (told.ptr, shown, told.len);
    arena_release (&arena);
}

TEST (a_secret_is_only_said_to_be_there)
{
    is_shown ("HF_TOKEN", "abc", "present");
    is_shown ("wandb_api_key", "", "present");
    is_shown ("JAX_LEGACY_PRNG_KEY", "allow", "allow");
}

TEST (passwords_of_addresses_are_cut)
{
    is_shown ("XLA_FLAGS", "--a --b=c@d", "--a --b=c@d");
    is_shown ("JAX_DIR", "s3://me:word@host/x,gs://you@b", "s3://***@host/x,gs://***@b");
    is_shown ("https_proxy", "me:p/w@proxy:1", "***@proxy:1");
    is_shown ("HTTPS_PROXY", "http://me:p/w@proxy:1", "http://***@proxy:1");
}

TEST (a_word_of_a_command_line_shows_no_secret)
{
    static const struct {
        const char *word, *shown;
    } words[] = { { "--wrong=h0:MY_TOKEN=a=b", "--wrong=h0:MY_TOKEN=present" },
                  { "h0:TPU_WORKER_ID=1", "h0:TPU_WORKER_ID=1" },
                  { "h0:http_proxy=me:word@proxy", "h0:http_proxy=***@proxy" },
                  { "https://me:word@host/x", "https://***@host/x" },
                  { "--plain", "--plain" },
                  { "", "" } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_text (secret_redact_word (&t->arena, text_of (words[i].word)), words[i].shown);
}

TEST (what_a_program_printed_shows_no_secret_of_its_profile)
{
    struct var shared[] = { { TEXT_LIT ("HF_TOKEN"), TEXT_LIT ("tok-5ecr3t") },
                            { TEXT_LIT ("MODE"), TEXT_LIT ("abcdefg") } };
    struct var own[] = { { TEXT_LIT ("DB_PASSWORD"), TEXT_LIT ("hunter2") },
                         { TEXT_LIT ("A_KEY"), TEXT_LIT ("short") } };
    const struct profile profile = { .env = { shared, 2 }, .host_env.set = { own, 2 } };
    struct text shown = secret_redact_values (
        &t->arena, &profile, TEXT_LIT ("tok-5ecr3t, tok-5ecr3t; abcdefg short\nhttps://me:word@host/x hunter2"));
    assert_text (shown, "***, ***; abcdefg short\nhttps://***@host/x ***");
}

TEST (what_grows_by_it_still_fits_a_record)
{
    char value[TEXT_MAX_BYTES + 1];
    for (size_t i = 0; i < TEXT_MAX_BYTES; i += 8)
        memcpy (value + i, "a://@/b,", 8);
    value[TEXT_MAX_BYTES] = '\0';
    struct var var = { TEXT_LIT ("JAX_DIR"), text_of (value) };
    var_list list = { &var, 1 };
    assert_true (secret_redact_var (&t->arena, &var).len > TEXT_MAX_BYTES);
    assert_int_equal (secret_redact_vars (&t->arena, &list).items[0].value.len, TEXT_MAX_BYTES);
}

TEST (a_list_keeps_names_and_order)
{
    struct var vars[] = { { TEXT_LIT ("B"), TEXT_LIT ("1") }, { TEXT_LIT ("A_TOKEN"), TEXT_LIT ("x") } };
    var_list list = { vars, 2 }, shown = secret_redact_vars (&t->arena, &list);
    assert_int_equal (shown.n, 2);
    assert_true (text_is (shown.items[0].name, "B") && text_is (shown.items[0].value, "1"));
    assert_true (text_is (shown.items[1].name, "A_TOKEN") && text_is (shown.items[1].value, "present"));
}
