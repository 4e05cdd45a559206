#include "coordinator/page/host_letters.h"

#include <assert.h>

enum { LETTER_CODES = 128, DIGIT_BITS = 6, RUN_BYTES = 11, READABLE_BYTES = 64 /* people can read run lengths */ };

/* The letters that occur, in the order in which they come first. */
struct alphabet {
    char letters[LETTER_CODES];
    uint8_t place[LETTER_CODES];
    uint32_t n, width; /* width: bits of a place */
};

char host_letter_of_number (uint32_t number)
{
    assert (number < HOST_NUMBERS);
    return (char) (':' + number);
}

static struct alphabet find_alphabet (const char *letters, uint32_t n)
{
    struct alphabet out = { .n = 0 };
    bool seen[LETTER_CODES] = { false };
    for (uint32_t i = 0; i < n; i++) {
        uint32_t code = (uint8_t) letters[i] % LETTER_CODES;
        if (seen[code])
            continue;
        seen[code] = true;
        out.place[code] = (uint8_t) out.n;
        out.letters[out.n++] = letters[i];
    }
    while (1u << out.width < out.n)
        out.width++;
    return out;
}

void host_letters_add_runs (const char *letters, uint32_t n, struct buf *out)
{
    for (uint32_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && letters[end] == letters[first];)
            end++;
        buf_byte (out, (uint8_t) letters[first]);
        if (end - first > 1)
            buf_printf (out, "%u", end - first);
    }
}

/* The highest bit of a place first; the last digit is filled up with zeros. */
static void add_packed (const char *letters, uint32_t n, const struct alphabet *alphabet, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0, held = 0; /* `held` bits are not written yet */
    buf_printf (out, "!%.*s!", (int) alphabet->n, alphabet->letters);
    for (uint32_t i = 0; i < n; i++) {
        bits = bits << alphabet->width | alphabet->place[(uint8_t) letters[i] % LETTER_CODES];
        for (held += alphabet->width; held >= DIGIT_BITS; held -= DIGIT_BITS)
            buf_byte (out, (uint8_t) digits[bits >> (held - DIGIT_BITS) & 63]);
    }
    if (held)
        buf_byte (out, (uint8_t) digits[bits << (DIGIT_BITS - held) & 63]);
}

json_t *host_letters_json (const char *letters, uint32_t n)
{
    struct alphabet alphabet = find_alphabet (letters, n);
    size_t packed_bytes = 2 + alphabet.n + ((size_t) n * alphabet.width + DIGIT_BITS - 1) / DIGIT_BITS;
    struct buf out;
    buf_init (&out, (size_t) n * RUN_BYTES + LETTER_CODES);
    host_letters_add_runs (letters, n, &out);
    if (out.len > READABLE_BYTES && packed_bytes < out.len) {
        buf_clear (&out);
        add_packed (letters, n, &alphabet, &out);
    }
    return buf_take_json (&out);
}
