/* table.c - the signatures of a plan as a file for workers. The key is for ever. */
#include "common/signature/signature.h"

static const struct field table_fields[] = {
    F_LIST (1, struct signature_table, signatures, SIGNATURES_MAX, &signature_record),
};
const struct record signature_table_record = RECORD ("signature table", struct signature_table, table_fields);
