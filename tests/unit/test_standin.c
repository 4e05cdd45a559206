/* links: standin */
/* The pure parts of the stand-in for libtpu: which process of which slice this is, where its devices are, metadata's lines. */
#include "test.h"
#include "worker/standin/client.h"

struct setting {
    const char *name, *value;
};
enum { SETTINGS = 20 };
struct world {
    struct setting variables[SETTINGS], metadata[SETTINGS]; /* metadata: "attribute" or "attribute/key" */
};

static const char *find (const struct setting *list, const char *name)
{
    for (int i = 0; list[i].name; i++)
        if (strcmp (list[i].name, name) == 0)
            return list[i].value;
    return NULL;
}

static const char *variable (void *owner, const char *name)
{
    return find (((struct world *) owner)->variables, name);
}

static const char *metadata (void *owner, const char *attribute, const char *key)
{
    char name[128];
    snprintf (name, sizeof name, key ? "%s/%s" : "%s", attribute, key);
    return find (((struct world *) owner)->metadata, name);
}

static const struct world pod = { .variables = { { "TPU_ACCELERATOR_TYPE", "v6e-16" },
                                                 { "TPU_HOST_BOUNDS", "2,2,1" },
                                                 { "TPU_CHIPS_PER_HOST_BOUNDS", "2,2,1" },
                                                 { "TPU_WORKER_ID", "2" },
                                                 { "TPU_WORKER_HOSTNAMES", "a,b,c,d" },
                                                 { "TPU_SKIP_MDS_QUERY", "true" } } };

static void set (struct world *world, const char *name, const char *value)
{
    for (int i = 0; i < SETTINGS - 1; i++)
        if (!world->variables[i].name || strcmp (world->variables[i].name, name) == 0) {
            world->variables[i] = (struct setting){ name, value };
            return;
        }
}

static int world_read (const struct world *world, struct place *place, struct refusal *refusal)
{
    const struct place_source source = { variable, metadata, (void *) world };
    return place_read (&source, place, refusal);
}

static void assert_refused (const struct world *world, const char *text)
{
    struct place place;
    struct refusal refusal = { 0 };
    assert_int_equal (world_read (world, &place, &refusal), -1);
    assert_has (refusal.text, text);
}

TEST (takes_a_pods_variables)
{
    struct place place;
    struct refusal refusal;
    assert_int_equal (world_read (&pod, &place, &refusal), 0);
    assert_int_equal (place.world, 4);
    assert_int_equal (place.id, 2);
    assert_string_equal (place.generation->kind, "TPU v6 lite");
    assert_string_equal (place.addresses[3].name, "d");
    assert_string_equal (place.addresses[3].port, "8471");
    assert_true (place.locks);
    assert_int_equal (slice_grid_devices (&place.slice), 16);
}

TEST (bounds_of_one_need_no_addresses)
{
    struct world alone = pod;
    struct place place;
    struct refusal refusal;
    set (&alone, "TPU_PROCESS_BOUNDS", "1,1,1"); /* wins over TPU_HOST_BOUNDS */
    assert_int_equal (world_read (&alone, &place, &refusal), 0);
    assert_int_equal (place.world, 1);
    assert_int_equal (place.id, 0);
}

TEST (what_decides_and_is_wrong_is_refused)
{
    static const struct {
        const char *name, *value, *text;
    } cases[] = {
        { "TPU_WORKER_HOSTNAMES", "a", "Expected 4 worker addresses, got 1." },
        { "TPU_WORKER_HOSTNAMES", "a,b,c,d,e", "Expected 4 worker addresses, got 5." },
        { "TPU_WORKER_HOSTNAMES", "", "Expected 4 worker addresses, got 0." },
        { "TPU_PROCESS_ADDRESSES", "local", "Expected 4 worker addresses, got 1." },
        { "TPU_WORKER_ID", "4", "unexpected worker hostname" },
        { "TPU_WORKER_ID", "two", "unexpected worker hostname" },
        { "TPU_HOST_BOUNDS", "", "Failed to get global TPU topology." },
        { "TPU_HOST_BOUNDS", "2,2", "Invalid process bounds '2,2'" },
        { "TPU_HOST_BOUNDS", "0,2,1", "Invalid process bounds" },
        { "TPU_HOST_BOUNDS", "64,64,64", "Invalid process bounds" },
        { "TPU_CHIPS_PER_HOST_BOUNDS", "9,9,9", "Invalid chips per process bounds" },
        { "TPU_VISIBLE_CHIPS", "0,1", "2 visible chips do not match" },
        { "TPU_ACCELERATOR_TYPE", "h100-8", "No ba16c7433 device found." },
        { "TPU_SKIP_MDS_QUERY", "", "Couldn't connect to server" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world world = pod;
        set (&world, cases[i].name, cases[i].value);
        if (strcmp (cases[i].name, "TPU_SKIP_MDS_QUERY") == 0)
            set (&world, "TPU_HOST_BOUNDS", "");
        assert_refused (&world, cases[i].text);
    }
}

TEST (a_virtual_machine_asks_metadata)
{
    static const struct world machine = { .metadata = { { "tpu-env/ACCELERATOR_TYPE", "v5p-16" },
                                                        { "tpu-env/HOST_BOUNDS", "1,1,2" },
                                                        { "tpu-env/CHIPS_PER_HOST_BOUNDS", "2,2,1" },
                                                        { "agent-worker-number", "1" },
                                                        { "worker-network-endpoints", "x:7:10.0.0.1,y:8:10.0.0.2" } } };
    struct place place;
    struct refusal refusal;
    struct world forbidden = machine;
    assert_int_equal (world_read (&machine, &place, &refusal), 0);
    assert_int_equal (place.id, 1);
    assert_string_equal (place.addresses[1].name, "10.0.0.2");
    set (&forbidden, "TPU_SKIP_MDS_QUERY", "false"); /* any text forbids */
    assert_refused (&forbidden, "No ba16c7433 device found.");
}

TEST (the_lock_is_skipped_for_other_bounds)
{
    struct world world = pod;
    struct place place;
    struct refusal refusal;
    set (&world, "TPU_CHIPS_PER_HOST_BOUNDS", "2,4,1");
    assert_int_equal (world_read (&world, &place, &refusal), 0);
    assert_false (place.locks);
    world = pod;
    set (&world, "ALLOW_MULTIPLE_LIBTPU_LOAD", "true");
    assert_int_equal (world_read (&world, &place, &refusal), 0);
    assert_false (place.locks);
}

TEST (one_of_several_slices_counts_the_processes_of_those_before_it)
{
    struct world world = pod;
    struct place place;
    struct refusal refusal;
    set (&world, "MEGASCALE_NUM_SLICES", "2");
    set (&world, "MEGASCALE_SLICE_ID", "1");
    set (&world, "MEGASCALE_COORDINATOR_ADDRESS", "a");
    assert_refused (&world, "is not told the addresses of all 8 processes");
    set (&world, "SLICEUP_STANDIN_PEERS", "a,b,c,d,e,f,g,h");
    assert_int_equal (world_read (&world, &place, &refusal), 0);
    assert_int_equal (place.world, 8);
    assert_int_equal (place.id, 6);
    assert_string_equal (place.addresses[6].name, "g");
    assert_int_equal (slice_grid_devices (&place.slice), 32);
    struct device_place last = slice_grid_place (&place.slice, 16);
    assert_int_equal (last.slice, 1);
    assert_int_equal (last.process, 4);
    assert_int_equal (last.coords[0], 0);
    set (&world, "MEGASCALE_SLICE_ID", "2");
    assert_refused (&world, "do not describe one of several slices");
    set (&world, "MEGASCALE_NUM_SLICES", "1"); /* as GKE says of a single one */
    assert_int_equal (world_read (&world, &place, &refusal), 0);
    assert_int_equal (place.world, 4);
}

TEST (devices_are_numbered_along_x)
{
    const struct slice_grid slice = { 1, { 2, 2, 1 }, { 2, 2, 1 }, 1 }, two = { 1, { 1, 1, 2 }, { 2, 2, 1 }, 2 };
    static const uint32_t owners[] = { 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3 };
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal (slice_grid_place (&slice, i).process, owners[i]);
    const struct slice_grid long_one = { 1, { 2, 4, 1 }, { 2, 2, 1 }, 1 };
    assert_int_equal (slice_grid_place (&long_one, 23).process, 5); /* x 3, y 5 */
    struct device_place place = slice_grid_place (&two, 15);
    assert_int_equal (place.process, 1);
    assert_int_equal (place.coords[0], 1);
    assert_int_equal (place.coords[2], 1);
    assert_int_equal (place.core, 1);
}

TEST (metadata_lines_are_read_by_key)
{
    char value[8];
    const char *lines =
        "ZONE: 'z'\nTPU_HOST_BOUNDS: '9'\nHOST_BOUNDS_OLD: '8'\nHOST_BOUNDS: '2,2,1'\nLONG: '0123456789'\n";
    assert_true (metadata_find_key (lines, "HOST_BOUNDS", value, sizeof value));
    assert_string_equal (value, "2,2,1");
    assert_false (metadata_find_key (lines, "BOUNDS", value, sizeof value));
    assert_false (metadata_find_key (lines, "LONG", value, sizeof value));
}

/* A module of one computation: an instruction 9<<32|10 with operand 9<<32|3, root 9<<32|10; the schedule has the first. */
TEST (numbers_of_instructions_become_small_in_their_place)
{
    char code[] = "\x0a\x2c"                                             /* hlo_module */
                  "\x1a\x1d"                                             /* computations */
                  "\x12\x14"                                             /* instructions */
                  "\x0a\x01x\x98\x02\x8a\x80\x80\x80\x90\x01"            /* name, id */
                  "\xa2\x02\x06\x83\x80\x80\x80\x90\x01"                 /* operand_ids */
                  "\x30\x8a\x80\x80\x80\x90\x01"                         /* root_id */
                  "\x3a\x0b\x0a\x09\x08\x07\x12\x05\x0a\x03\x0a\x81\x01" /* schedule: 10, 129 */
                  "\x12\x01\xff";                                        /* config: not looked at */
    static const char want[] = "\x0a\x2c\x1a\x1d\x12\x14\x0a\x01x\x98\x02\x8a\x80\xa4\x80\x80\x00"
                               "\xa2\x02\x06\x83\x80\xa4\x80\x80\x00\x30\x8a\x80\xa4\x80\x80\x00"
                               "\x3a\x0b\x0a\x09\x08\x07\x12\x05\x0a\x03\x0a\x81\x01\x12\x01\xff";
    assert_int_equal (sizeof code, sizeof want);
    for (size_t cut = 0; cut < sizeof code; cut++) { /* bytes that are no message are left where they end */
        char torn[sizeof code];
        memcpy (torn, code, sizeof code);
        hlo_make_ids_small (torn, cut);
        assert_memory_equal (torn + cut, code + cut, sizeof code - cut);
    }
    hlo_make_ids_small (code, sizeof code - 1);
    assert_memory_equal (code, want, sizeof want);
}
