#include "common/model/host_source.h"

#include <inttypes.h>
#include <string.h>

#include "common/model/hostset_scan.h"

enum { SHOWN_COLUMNS = 40 };

static int host_source_refuse (struct err *err, const char *what, uint32_t entry, struct text shown, const char *why)
{
    LOCAL_BUF escaped = { .max = 1024 };
    buf_escaped (&escaped, shown, SHOWN_COLUMNS);
    err_set (err, ERR_PARSE, "%s, entry %" PRIu32 " ('%s'): %s", what, entry, buf_c (&escaped), why);
    return -1;
}

static int host_source_too_long (const struct buf *expression, struct err *err)
{
    if (!expression->overflow)
        return 0;
    return err_set (err, ERR_LIMIT, "the list of hosts has more than %zu bytes, the limit", expression->max);
}

int host_source_slurm (struct text nodelist, struct buf *expression, struct err *err)
{
    struct hostset_scan scan = { .all = text_trimmed (nodelist) };
    if (scan.all.len == 0)
        return err_set (err, ERR_PARSE, "Slurm's list of nodes is empty, expected one such as tux[1-3]");
    while (!hostset_scan_at_end (&scan))
        if (hostset_scan_name (&scan).len == 0 && !hostset_scan_accept (&scan, '[') &&
            !hostset_scan_accept (&scan, ']') && !hostset_scan_accept (&scan, ','))
            return host_source_refuse (err, "Slurm's list of nodes", 1,
                                       hostset_scan_text_between (&scan, scan.at, scan.all.len),
                                       "expected only names, brackets and commas, such as tux[1-3],login1");
    buf_add_text (expression, scan.all);
    return host_source_too_long (expression, err);
}

static int host_source_add_name (const char *what, uint32_t entry, struct text shown, struct text name,
                                 struct buf *expression, struct err *err)
{
    if (!host_name_valid (name))
        return host_source_refuse (err, what, entry, shown,
                                   "expected a host name or IPv4 address: letters, digits, '.', '_', '-', at most 253 "
                                   "bytes, 63 between two dots");
    buf_puts (expression, entry > 1 ? "," : "");
    buf_add_text (expression, name);
    return host_source_too_long (expression, err);
}

int host_source_tpu_names (struct text names, struct buf *expression, struct err *err)
{
    static const char what[] = "TPU_WORKER_HOSTNAMES";
    struct text rest = text_trimmed (names), name;
    if (rest.len == 0)
        return err_set (err, ERR_PARSE, "%s is empty; expected names with commas between them, such as w-0,w-1", what);
    for (uint32_t entry = 1; text_next_item (&rest, ',', &name); entry++)
        if (host_source_add_name (what, entry, name, text_trimmed (name), expression, err) < 0)
            return -1;
    return 0;
}

/* "name:id:address", or a plain name. */
static bool endpoint_address (struct text endpoint, struct text *address)
{
    struct text rest = text_trimmed (endpoint), field;
    uint32_t fields = 0;
    while (text_next_item (&rest, ':', &field)) {
        fields++;
        *address = field;
    }
    return fields == 1 || fields == 3;
}

int host_source_tpu_endpoints (struct text endpoints, struct buf *expression, struct err *err)
{
    static const char what[] = "TPU VM metadata, worker-network-endpoints";
    struct text rest = text_trimmed (endpoints), endpoint, address;
    if (rest.len == 0)
        return err_set (err, ERR_PARSE, "%s is empty; expected name:id:address for each worker", what);
    for (uint32_t entry = 1; text_next_item (&rest, ',', &endpoint); entry++) {
        if (!endpoint_address (endpoint, &address))
            return host_source_refuse (err, what, entry, endpoint, "expected name:id:address or a name");
        if (host_source_add_name (what, entry, endpoint, address, expression, err) < 0)
            return -1;
    }
    return 0;
}

static bool host_source_take_word (struct text content, uint32_t *at, struct text *word)
{
    struct hostset_scan scan = { .all = content, .at = *at };
    hostset_scan_skip_blanks (&scan);
    while (hostset_scan_peek (&scan) == '#') {
        struct text rest = hostset_scan_text_between (&scan, scan.at, content.len);
        scan.at += text_take_until (&rest, '\n').len;
        hostset_scan_skip_blanks (&scan);
    }
    uint32_t from = scan.at;
    bool within = false;
    for (; !hostset_scan_at_end (&scan) && hostset_scan_peek (&scan) != '#'; scan.at++) {
        char next = hostset_scan_peek (&scan);
        within = next == '[' || (within && next != ']' && next != '\n');
        if ((next == ' ' || next == '\t' || next == '\n' || next == '\r') && !within)
            break;
    }
    *word = hostset_scan_text_between (&scan, from, scan.at);
    *at = scan.at;
    return word->len > 0;
}

/* mpirun(1), deepspeed.ai: "node1 slots=8 max_slots=8", "node1:8" and "node1 8"; sge_pe(5): "node1 8 all.q@node1
 * UNDEFINED", where a queue and processors follow. How many programs a host runs is not of interest here. */
bool host_file_next (struct host_file *file)
{
    struct text *word = &file->word, last = *word;
    if (file->at == 0 && text_starts (file->content, "\xef\xbb\xbf")) /* a mark of Windows */
        text_skip (&file->content, 3);
    const char *line = file->line ? word->ptr - (file->column - 1) : file->content.ptr, *end;
    file->line += file->line == 0;
    bool slots = false, queue = false;
    while (host_source_take_word (file->content, &file->at, word)) {
        bool first = last.len == 0;
        for (; (end = memchr (line, '\n', (size_t) (word->ptr - line))); file->line++, first = true)
            line = end + 1;
        struct text count = *word, at_host = *word, name;
        if (text_cut (&count, ':', &name) && name.len && count.len && text_digits_end (count, 0) == count.len)
            *word = name;
        file->column = (uint32_t) (word->ptr - line) + 1;
        file->beside = first ? TEXT_LIT ("") : last;
        queue = !first && (queue || (slots && text_cut (&at_host, '@', &name) && text_equal (at_host, last)));
        slots = !first && text_digits_end (*word, 0) == word->len;
        if (first || !(queue || slots || text_find (*word, TEXT_LIT ("slots="), NULL)))
            return true;
    }
    return false;
}

static bool host_source_is_address (struct text word)
{
    char name[HOST_IPV6_BYTES];
    uint32_t digits = 0;
    for (uint32_t i = 0; i < word.len; i++)
        digits += text_is_digit (word.ptr[i]) || word.ptr[i] == '.';
    return (digits == word.len && text_find (word, TEXT_LIT ("."), NULL)) || host_ipv6_name (word, name);
}

const char *host_file_other_tool (const struct host_file *file)
{
    struct text word = file->word, beside = file->beside;
    if (beside.len && host_source_is_address (beside) != host_source_is_address (word))
        return "an address with its name, as in /etc/hosts";
    struct text rest = word, item;
    bool row = text_starts (word, "name,") || text_starts (word, "hostname,");
    for (uint32_t n = 0, addresses = 0; !memchr (word.ptr, '[', word.len) && text_next_item (&rest, ',', &item);) {
        addresses += host_source_is_address (item);
        row |= ++n > addresses && addresses > 0;
    }
    if (row)
        return "a table with commas (CSV)";
    if (text_is (beside, "rank") && memchr (word.ptr, '=', word.len))
        return "a rankfile of MPI";
    if (word.ptr[0] == '{' || word.ptr[0] == '"' || text_is (word, "[") || text_starts (word, "[{"))
        return "JSON";
    if (text_is (word, "---") || text_ends (word, ":"))
        return "YAML, such as an Ansible inventory";
    if (text_starts (word, "ansible_") || (word.len > 1 && word.ptr[0] == '[' && text_is_letter (word.ptr[1]) &&
                                           !text_find (word, TEXT_LIT ("::"), NULL)))
        return "an Ansible inventory";
    return memchr (word.ptr, '=', word.len) ? "a setting of another tool" : NULL;
}
