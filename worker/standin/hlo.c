/* hlo.c - numbers of instructions in compiled programs, for callers whose XLA is older than the plugin's.
 *
 * XLA numbers an instruction by its computation: that one's number in the upper half of 64 bits, its own in the lower half. An
 * older XLA refuses such numbers: "Instruction with id > INT_MAX" (seen with torch_xla 2.7.0, which reads the compiled program to
 * learn its shapes). So they get 15 and 16 bits, in as many bytes as before: a varint may be longer than it has to be
 * (protobuf.dev/programming-guides/encoding). Larger programs keep equal numbers, which that XLA refuses as well. */
#include "worker/standin/client.h"

enum kind { MODULE_WITH_CONFIG, MODULE, COMPUTATION, INSTRUCTION, SCHEDULE, SCHEDULE_ENTRY, SEQUENCE, NUMBERS };
/* openxla/xla:xla/service/hlo.proto. */
static const struct member {
    uint8_t of, field, is;
} members[] = {
    { MODULE_WITH_CONFIG, 1, MODULE }, { MODULE, 3, COMPUTATION },      { MODULE, 7, SCHEDULE },
    { COMPUTATION, 2, INSTRUCTION },   { COMPUTATION, 6, NUMBERS }, /* root_id */
    { INSTRUCTION, 35, NUMBERS },                                   /* id */
    { INSTRUCTION, 36, NUMBERS },                                   /* operand_ids */
    { INSTRUCTION, 37, NUMBERS },                                   /* control_predecessor_ids */
    { SCHEDULE, 1, SCHEDULE_ENTRY },   { SCHEDULE_ENTRY, 2, SEQUENCE }, { SEQUENCE, 1, NUMBERS },
};
enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static const struct member *member_of (enum kind of, uint64_t field)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (members[i].of == of && members[i].field == field)
            return &members[i];
    return NULL;
}

/* Where the next byte lies; NULL: the number does not end before `end`. */
static unsigned char *number_read (unsigned char *at, const unsigned char *end, uint64_t *number)
{
    *number = 0;
    for (unsigned i = 0; i < 10 && at + i < end; i++) {
        *number |= (uint64_t) (at[i] & 0x7f) << 7 * i;
        if (at[i] < 0x80)
            return at + i + 1;
    }
    return NULL;
}

static void number_make_small (unsigned char *at, const unsigned char *end, uint64_t number)
{
    uint64_t small = number >> 32 ? (number >> 32 & 0x7fff) << 16 | (number & 0xffff) : number;
    for (; at < end; at++, small >>= 7)
        *at = (unsigned char) ((small & 0x7f) | (at + 1 < end ? 0x80 : 0));
}

static void numbers_make_small (unsigned char *at, const unsigned char *end)
{
    uint64_t number;
    for (unsigned char *next; at < end && (next = number_read (at, end, &number)); at = next)
        number_make_small (at, next, number);
}

/* As deep as the table. Stops at bytes that are no message. */
static void message_make_small (unsigned char *at, const unsigned char *end, enum kind of)
{
    uint64_t key, number = 0;
    while (at < end && (at = number_read (at, end, &key))) {
        const struct member *member = member_of (of, key >> 3);
        enum wire_type type = key & 7;
        unsigned char *next = type == FIXED64 ? at + 8 : type == FIXED32 ? at + 4 : number_read (at, end, &number);
        if (!next || next > end || (type == BYTES && number > (uint64_t) (end - next)))
            return;
        if (type == VARINT && member)
            number_make_small (at, next, number);
        at = type == BYTES ? next + number : next;
        if (type == BYTES && member && member->is == NUMBERS)
            numbers_make_small (next, at);
        else if (type == BYTES && member)
            message_make_small (next, at, member->is);
    }
}

void hlo_make_ids_small (char *code, size_t size)
{
    message_make_small ((unsigned char *) code, (unsigned char *) code + size, MODULE_WITH_CONFIG);
}
