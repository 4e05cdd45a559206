/* alone: facts */
#include "machine_fixture.h"
#include "test.h"
#include <sys/sysmacros.h>

static void put_chip (struct machine *machine, const char *slot, const char *vendor, const char *device,
                      const char *driver)
{
    char path[256];
    snprintf (path, sizeof path, "/sys/bus/pci/devices/%s/vendor", slot);
    put (machine, path, vendor);
    snprintf (path, sizeof path, "/sys/bus/pci/devices/%s/device", slot);
    put (machine, path, device);
    snprintf (path, sizeof path, "/sys/bus/pci/devices/%s/driver", slot);
    if (driver)
        put_link (machine, path, driver);
}

TEST_ON (machine, chips_are_counted_by_id_and_driver)
{
    put_chip (machine, "0000:00:04.0", "0x1ae0\n", "0x006f\n", "../../../../bus/pci/drivers/vfio-pci");
    put_chip (machine, "0000:00:05.0", "0x1ae0\n", "0x006f\n", "../../../../bus/pci/drivers/vfio-pci");
    put_chip (machine, "0000:00:06.0", "0x1ae0\n", "0x0042\n", NULL);
    put_chip (machine, "0000:00:07.0", "0x8086\n", "0x006f\n", NULL);
    pci_facts (&machine->list);
    is (machine, "pci.google", "2 x 0x006f (vfio-pci), 1 x 0x0042 (no driver)");
    is (machine, "pci.nvidia", "absent");
}

TEST_ON (machine, device_files_and_their_device_users_are_named)
{
    char target[128], wanted[256];
    put (machine, "/dev/vfio/0", "");
    put (machine, "/dev/vfio/1", "");
    put (machine, "/dev/vfio/vfio", "");
    put (machine, "/proc/4711/comm", "python3\n");
    put (machine, "/proc/4712/comm", "bash\n");
    put (machine, "/proc/uptime", "");
    put_link (machine, "/proc/4712/fd/0", "/dev/null");
    put_link (machine, "/proc/4711/fd/0", "socket:[1]");
    snprintf (target, sizeof target, "%s/vfio/1", machine->dev);
    put_link (machine, "/proc/4711/fd/9", target);
    device_facts (&machine->list);
    snprintf (wanted, sizeof wanted, "3 x uid %u gid %u mode 0640", geteuid (), getegid ());
    is (machine, "device.vfio", wanted);
    snprintf (wanted, sizeof wanted, "%s by process 4711 (python3)", target);
    is (machine, "device.holders", wanted);
    is (machine, "device.held_by", "1 x python3");
}

TEST_ON (machine, a_free_device_is_held_by_none)
{
    char target[128];
    put (machine, "/dev/accel0", "");
    put (machine, "/dev/nvidiactl", "");
    snprintf (target, sizeof target, "%s/nvidiactl", machine->dev);
    put_link (machine, "/proc/1/fd/7", target);
    put_link (machine, "/proc/1/fd/0", "/dev/null");
    device_facts (&machine->list);
    is (machine, "device.holders", "none");
    put (machine, "/proc/2/comm", "ended just now\n");
    again (machine);
    device_facts (&machine->list);
    is (machine, "device.holders", "none");
    put (machine, "/proc/2/fd", "no folder that could be read");
    host_fact_list_release (&machine->list);
    host_fact_list_init (&machine->list, &machine->roots);
    device_facts (&machine->list);
    is (machine, "device.holders", "none seen; not every process could be looked at");
    is (machine, "device.held_by", "none seen");
}

TEST_ON (machine, a_lock_of_libtpu_names_its_live_holder)
{
    char locks[512], path[256];
    struct stat st;
    put (machine, "/tmp/libtpu_lockfile", "");
    snprintf (path, sizeof path, "%s/libtpu_lockfile", machine->tmp);
    assert_int_equal (stat (path, &st), 0);
    snprintf (locks, sizeof locks,
              "1: FLOCK  ADVISORY  WRITE 12 %02x:%02x:%llu 0 EOF\n1: -> FLOCK ADVISORY WRITE 13 00:01:99 0 EOF\n"
              "2: POSIX  ADVISORY  WRITE 815 %02x:%02x:%llu 0 EOF\n",
              major (st.st_dev), minor (st.st_dev), (unsigned long long) st.st_ino + 1, major (st.st_dev),
              minor (st.st_dev), (unsigned long long) st.st_ino);
    put (machine, "/proc/locks", locks);
    device_facts (&machine->list);
    snprintf (path, sizeof path, "uid %u mode 0640, locked by process 815", geteuid ());
    is (machine, "libtpu.lockfile", path);
    is (machine, "libtpu.lock", "held");
    host_fact_list_release (&machine->list);
    host_fact_list_init (&machine->list, &machine->roots);
    put (machine, "/proc/locks", "1: FLOCK  ADVISORY  WRITE 12 00:01:99 0 EOF\n");
    device_facts (&machine->list);
    snprintf (path, sizeof path, "uid %u mode 0640, not locked", geteuid ());
    is (machine, "libtpu.lockfile", path);
    is (machine, "libtpu.lock", "free");
}

TEST_ON (machine, a_holder_out_of_sight_holds_and_a_table_that_was_cut_proves_nothing)
{
    char path[256], line[128], *locks = mem_alloc (FACT_FILE_BYTES + 128);
    struct stat st;
    put (machine, "/tmp/libtpu_lockfile", "");
    snprintf (path, sizeof path, "%s/libtpu_lockfile", machine->tmp);
    assert_int_equal (stat (path, &st), 0);
    snprintf (line, sizeof line, "1: POSIX  ADVISORY  WRITE 0 %02x:%02x:%llu 0 EOF\n", major (st.st_dev),
              minor (st.st_dev), (unsigned long long) st.st_ino);
    put (machine, "/proc/locks", line);
    device_facts (&machine->list);
    is (machine, "libtpu.lock", "held");
    memset (locks, 'x', FACT_FILE_BYTES);
    memcpy (locks + FACT_FILE_BYTES, line, strlen (line));
    put (machine, "/proc/locks", locks);
    mem_free (locks);
    again (machine);
    device_facts (&machine->list);
    is (machine, "libtpu.lock", "unknown");
}

static void put_function (struct machine *machine, const char *slot, const char *device, const char *group,
                          const char *node)
{
    char path[256], target[256];
    put_chip (machine, slot, "0x1ae0\n", device, "../../../../bus/pci/drivers/vfio-pci");
    snprintf (path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group", slot);
    snprintf (target, sizeof target, "../../../kernel/iommu_groups/%s", group);
    put_link (machine, path, target);
    snprintf (path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", slot);
    put (machine, path, node);
    snprintf (path, sizeof path, "/sys/kernel/iommu_groups/%s/devices/%s/x", group, slot);
    put (machine, path, "");
}

TEST_ON (machine, the_chips_of_a_host_are_told_with_their_places)
{
    put_function (machine, "0000:00:04.0", "0x006f\n", "0", "0\n");
    put_function (machine, "0000:00:05.0", "0x006f\n", "1", "0\n");
    put_function (machine, "0000:00:06.0", "0x006f\n", "3", "1\n");
    put_function (machine, "0000:00:07.0", "0x006f\n", "3", "1\n");
    put_chip (machine, "0000:00:08.0", "0x1ae0\n", "0x0042\n", "../../../../bus/pci/drivers/gvnic");
    pci_facts (&machine->list);
    is (machine, "pci.google", "4 x 0x006f (vfio-pci), 1 x 0x0042 (gvnic)");
    is (machine, "tpu.chips", "4");
    is (machine, "tpu.generation", "v6e");
    is (machine, "accelerator.iommu", "2 x alone in its group, 2 x shares its group");
    is (machine, "accelerator.numa", "2 x node 0, 2 x node 1");
    is (machine, "accelerator.functions",
        "0000:00:04.0 group 0 node 0, 0000:00:05.0 group 1 node 0, "
        "0000:00:06.0 group 3 node 1, 0000:00:07.0 group 3 node 1");
}

TEST_ON (machine, a_gpu_is_an_accelerator_and_its_sound_card_is_none)
{
    put_chip (machine, "0000:01:00.0", "0x10de\n", "0x2335\n", NULL);
    put (machine, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    put_chip (machine, "0000:01:00.1", "0x10de\n", "0x22ba\n", NULL);
    put (machine, "/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
    pci_facts (&machine->list);
    is (machine, "pci.nvidia", "1 x 0x22ba (no driver), 1 x 0x2335 (no driver)");
    is (machine, "accelerator.functions", "0000:01:00.0 group none node absent");
    is (machine, "accelerator.iommu", "1 x no group");
    is (machine, "accelerator.pcie", "absent"); /* it tells no lanes */
    is (machine, "tpu.chips", "absent");
}

TEST_ON (machine, gpus_of_amd_are_counted_and_lanes_that_are_missing_are_told)
{
    put_chip (machine, "0000:c1:00.0", "0x1002\n", "0x74a1\n", "../../../../bus/pci/drivers/amdgpu");
    put (machine, "/sys/bus/pci/devices/0000:c1:00.0/class", "0x120000\n");
    put (machine, "/sys/bus/pci/devices/0000:c1:00.0/current_link_width", "8\n");
    put (machine, "/sys/bus/pci/devices/0000:c1:00.0/max_link_width", "16\n");
    put (machine, "/sys/bus/pci/devices/0000:c1:00.0/max_link_speed", "32.0 GT/s PCIe\n");
    put_chip (machine, "0000:c1:00.1", "0x1002\n", "0xab38\n", NULL);
    put (machine, "/sys/bus/pci/devices/0000:c1:00.1/class", "0x040300\n");
    put (machine, "/sys/module/amdgpu/version", "6.8.5\n");
    put (machine, "/root/opt/rocm/.info/version", "7.1.1\n");
    put (machine, "/dev/kfd", "");
    put (machine, "/dev/kmsg",
         "3,1,1,-;amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!\n6,1,2,-;amdgpu 0000:c1:00.0: GPU reset succeeded\n"
         "3,1,3,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=3, emitted seq=5\n"
         "3,1,4,-;amdgpu 0000:c1:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\n"
         "3,1,5,-;amdgpu 0000:c1:00.0: no uncorrectable hardware errors detected in umc block\n"
         "3,1,6,-;amdgpu 0000:c1:00.0: {1} socket: 0, die: 0, 0 new uncorrectable hardware errors detected in umc "
         "block\n"
         "3,1,7,-;other 0000:c1:00.0: GPU reset begin!\n");
    pci_facts (&machine->list);
    gpu_facts (&machine->list);
    device_facts (&machine->list);
    is (machine, "pci.amd", "1 x 0x74a1 (amdgpu), 1 x 0xab38 (no driver)");
    is (machine, "accelerator.pcie", "1 x x8 of x16, 32.0 GT/s PCIe");
    is (machine, "gpu.driver", "amdgpu 6.8.5");
    assert_true (text_starts (host_fact_find (&machine->list, "device.amd"), "1 x uid "));
    is (machine, "gpu.rocm", "7.1.1");
    is (machine, "gpu.errors", "GPU reset, ring timeout, uncorrectable hardware error");
}

TEST_ON (machine, a_driver_of_the_kernel_has_no_version_of_its_own)
{
    put (machine, "/sys/module/amdgpu/srcversion", "6CCB\n");
    gpu_facts (&machine->list);
    is (machine, "gpu.driver", "amdgpu of the kernel");
    is (machine, "gpu.rocm", "absent");
}

#define OPEN_MODULE                                                                                                    \
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (dvs-builder@U16)  Thu Feb "   \
    "22 01:24:45 UTC 2024\nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"
#define CARD                                                                                                           \
    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 455\nGPU UUID: \t GPU-0\nVideo BIOS: \t 96.00.74.00.01\n"          \
    "Bus Type: \t PCIe\nGPU Firmware: \t 550.54.14\nGPU Excluded:\t No\n"

TEST_ON (machine, the_driver_of_nvidia_tells_versions_and_the_kernel_its_errors)
{
    put (machine, "/proc/driver/nvidia/version", OPEN_MODULE);
    put (machine, "/proc/driver/nvidia/gpus/0000:04:00.0/information", CARD);
    put (machine, "/proc/driver/nvidia/gpus/0000:05:00.0/information",
         "Model: \t\t NVIDIA H100 80GB HBM3\nVideo BIOS: \t ??.??.??.??.??\nGPU Firmware: \t N/A\n");
    put (machine, "/dev/kmsg",
         "6,1,1,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n"
         "4,2,2,-;NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
         "4,3,3,-;NVRM: Xid (0000:05:00): 31, Ch 00000013, engmask 00000101\n"
         "4,4,4,-;NVRM: Xid (PCI:0000:04:00): 79, pid=1\n4,5,5,-;NVRM: Xid (PCI:0000:04:00): none\n4,5,6,-;Xid (\n"
         "3,6,6,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted\n"
         "3,6,7,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Severity 1 Engine instance 60\n"
         "3,6,8,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Data {0x10000000, 0x10000000}\n"
         "3,6,9,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
         "3,7,1,-;NVRM: fallen off the bus and is not responding to commands.\n");
    gpu_facts (&machine->list);
    is (machine, "gpu.driver", "nvidia 550.54.14, open");
    is (machine, "gpu.models", "2 x NVIDIA H100 80GB HBM3");
    is (machine, "gpu.bios", ""); /* not heard: one card was not used yet */
    is (machine, "gpu.firmware", "");
    is (machine, "gpu.errors", "SXid 20034, Xid 79, off the bus");
    is (machine, "gpu.errors_of_programs", "1 x SXid 12028, 1 x Xid 31");
    put (machine, "/proc/driver/nvidia/gpus/0000:05:00.0/information", CARD);
    again (machine);
    gpu_facts (&machine->list);
    is (machine, "gpu.bios", "2 x 96.00.74.00.01");
    is (machine, "gpu.firmware", "2 x 550.54.14");
}

TEST_ON (machine, a_kernel_log_without_errors_has_none_and_one_that_is_not_ours_tells_nothing)
{
    put (machine, "/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n");
    put (machine, "/dev/kmsg", "6,1,1,-;usb 1-1: new device\n");
    gpu_facts (&machine->list);
    is (machine, "gpu.driver", "nvidia 535.104.05");
    is (machine, "gpu.models", "absent");
    is (machine, "gpu.errors", "none");
    put (machine, "/proc/driver/nvidia/gpus/0000:05:00.0/information", "Video BIOS: \t ??.??.??.??.??\n");
    again (machine);
    gpu_facts (&machine->list);
    is (machine, "gpu.bios", "");
    again (machine);
    machine->roots.dev = "/nonexistent";
    gpu_facts (&machine->list);
    is (machine, "gpu.errors", "absent");
    again (machine);
    machine->roots.proc = "/nonexistent";
    gpu_facts (&machine->list);
    is (machine, "gpu.driver", "absent");
    is (machine, "gpu.errors", "absent");
}

TEST_ON (machine, a_bus_full_of_chips_fits)
{
    char slot[32];
    for (int i = 0; i < 80; i++) {
        snprintf (slot, sizeof slot, "0000:00:%02x.0", i);
        put_chip (machine, slot, "0x1ae0\n", "0x006f\n", NULL);
    }
    pci_facts (&machine->list);
    is (machine, "tpu.chips", "80");
    assert_true (host_fact_find (&machine->list, "accelerator.functions").len <= FACT_VALUE_BYTES);
}

/* A lock of the kernel's, on a file system whose device numbers stat and /proc/locks agree about. */
TEST_ON (machine, a_real_lock_is_seen_and_is_gone_with_its_holder)
{
    char folder[] = "/dev/shm/sliceup-facts-XXXXXX", path[128], wanted[128];
    int ready[2];
    assert_non_null (mkdtemp (folder));
    snprintf (path, sizeof path, "%s/libtpu_lockfile", folder);
    assert_int_equal (atomic_file_write (path, "", 0, 0600, NULL), 0);
    assert_int_equal (pipe2 (ready, O_CLOEXEC), 0);
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        int fd = open (path, O_RDWR | O_CLOEXEC);
        char done = fd >= 0 && lockf (fd, F_TLOCK, 0) == 0 ? 'y' : 'n';
        close (ready[0]);
        if (write (ready[1], &done, 1) != 1)
            _exit (1);
        for (;;)
            pause ();
    }
    char done = 'n';
    ssize_t got = read (ready[0], &done, 1);
    machine->roots.proc = "/proc";
    machine->roots.tmp = folder;
    device_facts (&machine->list);
    snprintf (wanted, sizeof wanted, "uid %u mode 0600, locked by process %d", geteuid (), pid);
    struct text held = text_copy (&machine->list.arena, host_fact_find (&machine->list, "libtpu.lockfile"));
    bool as_wanted = text_is (held, wanted);
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
    again (machine);
    device_facts (&machine->list);
    snprintf (wanted, sizeof wanted, "uid %u mode 0600, not locked", geteuid ());
    bool gone = text_is (host_fact_find (&machine->list, "libtpu.lockfile"), wanted);
    assert_int_equal (folder_remove (folder, NULL), 0);
    close (ready[0]);
    close (ready[1]);
    assert_true (got == 1 && done == 'y');
    assert_true (as_wanted);
    assert_true (gone);
}

TEST_ON (machine, what_may_not_be_looked_into_is_unreadable_and_not_absent)
{
    static const char *const names[] = { "pci.google",
                                         "pci.nvidia",
                                         "tpu.chips",
                                         "tpu.generation",
                                         "accelerator.iommu",
                                         "accelerator.numa",
                                         "accelerator.functions",
                                         "device.vfio" };
    put_link (machine, "/sys/bus/pci/devices", "devices");
    put_link (machine, "/dev/vfio", "vfio");
    all_of (machine);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is (machine, names[i], "unreadable (Too many levels of symbolic links)");
    is (machine, "device.accel", "absent");
}

TEST_ON (machine, kinds_are_told_in_one_order_wherever_they_stand)
{
    put_chip (machine, "0000:00:01.0", "0x1ae0\n", "0x0042\n", NULL);
    put_chip (machine, "0000:00:02.0", "0x1ae0\n", "0x006f\n", NULL);
    pci_facts (&machine->list);
    is (machine, "pci.google", "1 x 0x0042 (no driver), 1 x 0x006f (no driver)");
    put_chip (machine, "0000:00:00.1", "0x1ae0\n", "0x006f\n", NULL);
    put_chip (machine, "0000:00:00.2", "0x1ae0\n", "0x0042\n", NULL);
    again (machine);
    pci_facts (&machine->list);
    is (machine, "pci.google", "2 x 0x0042 (no driver), 2 x 0x006f (no driver)");
    put_chip (machine, "0000:00:05.0", "0x1ae0\n", "0x006f\n", NULL);
    again (machine);
    pci_facts (&machine->list);
    is (machine, "pci.google", "3 x 0x006f (no driver), 2 x 0x0042 (no driver)");
}

TEST_ON (machine, the_folder_of_newer_kernels_is_looked_into)
{
    char wanted[128];
    put (machine, "/dev/accel/accel0", "");
    put (machine, "/dev/accel/accel1", "");
    device_facts (&machine->list);
    snprintf (wanted, sizeof wanted, "2 x uid %u gid %u mode 0640", geteuid (), getegid ());
    is (machine, "device.accel", wanted);
}
