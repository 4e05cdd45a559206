#include "common/conf/address.h"

#include <string.h>

#include "common/model/plan.h"

enum { NAME_BYTES = 255, PORT_DIGITS_MAX = 5 };

static bool address_is_word (struct text word, const char *also)
{
    return word.len > 0 && word.len <= NAME_BYTES && word.ptr[0] != '-' && text_span (word, also) == word.len;
}

bool address_is_good (struct text address)
{
    bool has_colon = address.len > 0 && memchr (address.ptr, ':', address.len);
    return has_colon ? address_is_ip (address) : address_is_word (address, "._-");
}

bool host_key_alias_is_good (struct text alias)
{
    return address_is_word (alias, "._-+/:[]");
}

bool address_is_any (struct text address)
{
    return text_is (address, "0.0.0.0") || text_is (address, "::");
}

bool port_is_good (struct text digits)
{
    uint64_t port = 0;
    return digits.len <= PORT_DIGITS_MAX && text_to_u64 (digits, &port) && port > 0 && port <= UINT16_MAX;
}

bool jump_is_good (struct text jump)
{
    struct text rest = jump, user, host;
    if (jump.len > NAME_BYTES || (text_cut (&rest, '@', &user) && !address_is_word (user, "._-")))
        return false;
    bool bracketed = rest.len > 0 && rest.ptr[0] == '[';
    if (bracketed && (!text_cut (&rest, ']', &host) || !address_is_ip ((struct text){ host.ptr + 1, host.len - 1 })))
        return false;
    if (bracketed && rest.len == 0)
        return true;
    struct text before = { 0 };
    if (!text_cut (&rest, ':', &before))
        return !bracketed && address_is_word (rest, "._-");
    return (bracketed ? before.len == 0 : address_is_word (before, "._-")) && port_is_good (rest);
}
