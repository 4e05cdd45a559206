#include "common/base/utf8.h"

#include <string.h>

struct range {
    uint32_t first, last;
};

/* Unicode 15: Cc, and those of Cf, Mn, Me, Zl, Zp, Co and noncharacters that a terminal may obey or not show. */
static const struct range unprintable[] = {
    { 0x0, 0x1F },         { 0x7F, 0x9F },                           /* C0, DEL, C1 */
    { 0xAD, 0xAD },                                                  /* soft hyphen */
    { 0x300, 0x36F },      { 0x483, 0x489 },                         /* combining marks */
    { 0x61C, 0x61C },                                                /* Arabic letter mark: bidi */
    { 0x115F, 0x1160 },    { 0x17B4, 0x17B5 },   { 0x180B, 0x180F }, /* fillers, selectors: no glyph */
    { 0x1AB0, 0x1AFF },    { 0x1DC0, 0x1DFF },                       /* combining marks */
    { 0x200B, 0x200F },                                              /* zero width, bidi marks */
    { 0x2028, 0x202E },                        /* line and paragraph separator, bidi embedding and override */
    { 0x2060, 0x206F },                        /* word joiner, invisible operators, bidi isolates */
    { 0x20D0, 0x20FF },                        /* combining marks for symbols */
    { 0x3164, 0x3164 },                        /* Hangul filler */
    { 0xD800, 0xF8FF },                        /* surrogates, private use */
    { 0xFDD0, 0xFDEF },                        /* noncharacters */
    { 0xFE00, 0xFE0F },    { 0xFE20, 0xFE2F }, /* variation selectors, combining half marks */
    { 0xFEFF, 0xFEFF },    { 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },   /* no-break space, filler, annotation */
    { 0xFFFE, 0xFFFF },    { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, /* shorthand and musical format controls */
    { 0xE0000, 0x10FFFF },                                             /* tags, selectors, private use */
};

/* EastAsianWidth.txt of Unicode 14, W and F; unassigned gaps inside a block are taken along. */
static const struct range wide[] = {
    { 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x2329, 0x232A },   { 0x23E9, 0x23EC },   { 0x23F0, 0x23F0 },
    { 0x23F3, 0x23F3 },   { 0x25FD, 0x25FE },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x267F, 0x267F },
    { 0x2693, 0x2693 },   { 0x26A1, 0x26A1 },   { 0x26AA, 0x26AB },   { 0x26BD, 0x26BE },   { 0x26C4, 0x26C5 },
    { 0x26CE, 0x26CE },   { 0x26D4, 0x26D4 },   { 0x26EA, 0x26EA },   { 0x26F2, 0x26F3 },   { 0x26F5, 0x26F5 },
    { 0x26FA, 0x26FA },   { 0x26FD, 0x26FD },   { 0x2705, 0x2705 },   { 0x270A, 0x270B },   { 0x2728, 0x2728 },
    { 0x274C, 0x274C },   { 0x274E, 0x274E },   { 0x2753, 0x2755 },   { 0x2757, 0x2757 },   { 0x2795, 0x2797 },
    { 0x27B0, 0x27B0 },   { 0x27BF, 0x27BF },   { 0x2B1B, 0x2B1C },   { 0x2B50, 0x2B50 },   { 0x2B55, 0x2B55 },
    { 0x2E80, 0x303E },   { 0x3041, 0x3247 },   { 0x3250, 0x4DBF },   { 0x4E00, 0xA4C6 },   { 0xA960, 0xA97C },
    { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAD9 },   { 0xFE10, 0xFE19 },   { 0xFE30, 0xFE6B },   { 0xFF01, 0xFF60 },
    { 0xFFE0, 0xFFE6 },   { 0x16FE0, 0x1B2FB }, { 0x1F004, 0x1F004 }, { 0x1F0CF, 0x1F0CF }, { 0x1F18E, 0x1F18E },
    { 0x1F191, 0x1F19A }, { 0x1F200, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C }, { 0x1F37E, 0x1F393 },
    { 0x1F3A0, 0x1F3CA }, { 0x1F3CF, 0x1F3D3 }, { 0x1F3E0, 0x1F3F0 }, { 0x1F3F4, 0x1F3F4 }, { 0x1F3F8, 0x1F43E },
    { 0x1F440, 0x1F440 }, { 0x1F442, 0x1F4FC }, { 0x1F4FF, 0x1F53D }, { 0x1F54B, 0x1F54E }, { 0x1F550, 0x1F567 },
    { 0x1F57A, 0x1F57A }, { 0x1F595, 0x1F596 }, { 0x1F5A4, 0x1F5A4 }, { 0x1F5FB, 0x1F64F }, { 0x1F680, 0x1F6C5 },
    { 0x1F6CC, 0x1F6CC }, { 0x1F6D0, 0x1F6D2 }, { 0x1F6D5, 0x1F6DF }, { 0x1F6EB, 0x1F6EC }, { 0x1F6F4, 0x1F6FC },
    { 0x1F7E0, 0x1F7F0 }, { 0x1F90C, 0x1F93A }, { 0x1F93C, 0x1F945 }, { 0x1F947, 0x1F9FF }, { 0x1FA70, 0x1FAF6 },
    { 0x20000, 0x2FFFD }, { 0x30000, 0x3FFFD },
};

static bool in_ranges (const struct range *ranges, size_t n, uint32_t character)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (character > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && character >= ranges[low].first;
}

/* The length that the first byte announces; `least` is the smallest character that needs that many bytes. */
static uint32_t promised_bytes (unsigned char lead, uint32_t *bits, uint32_t *least)
{
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    uint32_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    *bits = lead & (0x7Fu >> bytes);
    *least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
    return bytes;
}

uint32_t utf8_next (struct text text, uint32_t at, uint32_t *character)
{
    const unsigned char *p = (const unsigned char *) text.ptr + at;
    if (p[0] < 0x80) {
        *character = p[0];
        return 1;
    }
    uint32_t value, least;
    uint32_t bytes = promised_bytes (p[0], &value, &least);
    if (bytes == 0 || text.len - at < bytes)
        return 0;
    for (uint32_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (p[i] & 0x3F);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *character = value;
    return bytes;
}

bool utf8_is_printable (uint32_t character)
{
    if (character >= 0x20 && character < 0x7F)
        return true;
    if (character > 0xFFFF && (character & 0xFFFE) == 0xFFFE) /* the last two of each plane are noncharacters */
        return false;
    return !in_ranges (unprintable, sizeof unprintable / sizeof unprintable[0], character);
}

uint32_t utf8_columns (uint32_t character)
{
    return character >= wide[0].first && in_ranges (wide, sizeof wide / sizeof wide[0], character) ? 2 : 1;
}

static const struct text replacement = TEXT_LIT ("\xEF\xBF\xBD"); /* U+FFFD */

/* The next character, or the replacement; how many bytes of `raw` it stands for. */
static uint32_t next_character (struct text raw, uint32_t at, struct text *out)
{
    uint32_t character = 0, len = utf8_next (raw, at, &character);
    if (len && character) {
        *out = (struct text){ raw.ptr + at, len };
        return len;
    }
    *out = replacement;
    return 1;
}

struct text text_repair_utf8 (struct arena *arena, struct text raw, uint32_t max_bytes)
{
    uint64_t worst_bytes = (uint64_t) raw.len * replacement.len;
    char *out = arena_alloc (arena, (worst_bytes < max_bytes ? worst_bytes : max_bytes) + 1);
    uint32_t len = 0;
    for (uint32_t at = 0; at < raw.len;) {
        struct text piece;
        at += next_character (raw, at, &piece);
        if (piece.len > max_bytes - len)
            break;
        memcpy (out + len, piece.ptr, piece.len);
        len += piece.len;
    }
    return (struct text){ out, len };
}
