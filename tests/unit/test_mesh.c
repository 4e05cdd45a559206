/* links: model */
#include "common/model/plan.h"
#include "test.h"

static struct axis three_axes[] = { { { "data", 4 }, 2 }, { { "fsdp", 4 }, 3 }, { { "model", 5 }, 4 } };
static const struct mesh three = { three_axes, 3 };

static struct mesh mesh_of (struct axis axes[], uint32_t n, const uint32_t sizes[])
{
    for (uint32_t i = 0; i < n; i++)
        axes[i] = (struct axis){ .axis = text_of ("x"), .size = sizes[i] };
    return (struct mesh){ axes, n };
}

TEST (devices_are_the_product_or_none)
{
    static const struct {
        uint32_t n, sizes[6], devices;
    } cases[] = {
        { 1, { 1 }, 1 },
        { 3, { 2, 3, 4 }, 24 },
        { 2, { 256, 256 }, DEVICES_MAX },
        { 2, { 256, 257 }, 0 },
        { 2, { 4, 0 }, 0 },
        { 2, { 0, 4 }, 0 },
        { 2, { 65536, 65536 }, 0 },
        { 1, { UINT32_MAX }, 0 },
        { 4, { 65536, 65536, 65536, 65536 }, 0 },
        { 6, { 2, 2, 2, 2, 2, 2 }, 64 },
        { 0, { 0 }, 1 },
        { 3, { 0, 65537, 65537 }, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct axis axes[6];
        struct mesh mesh = mesh_of (axes, cases[i].n, cases[i].sizes);
        assert_int_equal (mesh_devices (&mesh), cases[i].devices);
    }
}

TEST (axes_are_found_by_their_whole_name)
{
    assert_int_equal (mesh_axis (&three, text_of ("data")), 0);
    assert_int_equal (mesh_axis (&three, text_of ("model")), 2);
    assert_int_equal (mesh_axis (&three, text_of ("dat")), -1);
    assert_int_equal (mesh_axis (&three, text_of ("models")), -1);
    assert_int_equal (mesh_axis (&three, text_of ("")), -1);
}

TEST (devices_are_numbered_row_major)
{
    uint32_t device = 0, at[MESH_AXES_MAX];
    for (uint32_t data = 0; data < 2; data++)
        for (uint32_t fsdp = 0; fsdp < 3; fsdp++)
            for (uint32_t model = 0; model < 4; model++) {
                mesh_coordinates (&three, device++, at);
                assert_int_equal (at[0], data);
                assert_int_equal (at[1], fsdp);
                assert_int_equal (at[2], model);
            }
}

static uint32_t peers (const struct mesh *mesh, uint32_t device, uint32_t axes_bits)
{
    uint32_t n = 0;
    for (uint32_t other = 0; other < mesh_devices (mesh); other++)
        n += mesh_reduced_together (mesh, device, other, axes_bits);
    return n;
}

TEST (a_reduction_joins_as_many_devices_as_its_axes_have)
{
    static const uint32_t sizes[] = { 2, 3, 4 };
    for (uint32_t bits = 0; bits < 8; bits++) {
        uint32_t expected = 1;
        for (uint32_t axis = 0; axis < 3; axis++)
            expected *= bits >> axis & 1 ? sizes[axis] : 1;
        for (uint32_t device = 0; device < 24; device++)
            assert_int_equal (peers (&three, device, bits), expected);
    }
}

TEST (reductions_join_along_the_named_axis_only)
{
    static const struct {
        uint32_t a, b, bits;
        bool together;
    } cases[] = {
        { 0, 0, 0, true },  { 0, 1, 0, false }, { 0, 1, 4, true },   { 0, 1, 2, false }, { 0, 1, 1, false },
        { 0, 3, 4, true },  { 3, 4, 4, false }, { 0, 4, 2, true },   { 0, 12, 1, true }, { 0, 13, 1, false },
        { 0, 13, 5, true }, { 0, 23, 7, true }, { 0, 23, 6, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal (mesh_reduced_together (&three, cases[i].a, cases[i].b, cases[i].bits), cases[i].together);
        assert_int_equal (mesh_reduced_together (&three, cases[i].b, cases[i].a, cases[i].bits), cases[i].together);
    }
}

TEST (the_table_names_and_bounds_both_fields)
{
    assert_int_equal (axis_record.bytes, sizeof (struct axis));
    assert_int_equal (axis_record.fields_n, 2);
    assert_int_equal (axis_record.fields[0].max, AXIS_NAME_MAX_BYTES);
    assert_int_equal (axis_record.fields[1].max, DEVICES_MAX);
    assert_true (axis_record.fields[0].key < axis_record.fields[1].key);
}
