/* device.h - what a device and its description are asked: of which process, which kind, where, how much memory. */
#ifndef SLICEUP_WORKER_STANDIN_DEVICE_H
#define SLICEUP_WORKER_STANDIN_DEVICE_H

#include "worker/pjrt/pjrt.h"

/* Once after a client was made, before anything else here. */
void device_describe_all (void);

void *device_process_index (struct pjrt_number_args *args);
void *device_kind (struct pjrt_text_args *args);
void *device_text (struct pjrt_text_args *args);
void *device_description_attributes (struct pjrt_attributes_args *args);
void *device_attributes (struct pjrt_owned_attributes_args *args);
void *device_is_addressable (struct pjrt_truth_args *args);
void *device_local_hardware_id (struct pjrt_number_args *args);
void *device_memory_stats (struct pjrt_device_memory *args);

#endif
