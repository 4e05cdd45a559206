/* words_rules.c - the words of loaders, installers, kernels, drivers, schedulers, compilers and services, whatever
 * program prints them. More special rules stand first. */
#include "common/logs/error_rule.h"

#define PINS "Compare the installed packages and libraries with the pin set."
#define SPACE "Free space, or raise the quota, where the path named there lies."
#define MEMORY "Look at the memory of the host and at the limit of the job or container."
#define SHM "Give the container more shared memory (--shm-size, an emptyDir of medium Memory at /dev/shm)."
#define COMMAND "Correct the command line, the variables or the configuration of the launch."
#define SHRINK "Lower the batch, the sequence or the model per device, or shard it further."
#define SERVICE "Look at the service named there, its quota and the network on the way; run again when it answers."
#define CREDENTIALS "Give the program the credentials that it asks for."
#define DRIVER "Look at the driver of this host: compare its version with the other hosts, and reload it or reboot."
#define HARDWARE "Take this host out and have the device checked; compare its counters with the other hosts."
#define HOLDER "Find the process that holds the device, and end it."
#define REPORT "Reduce the program, try another version of the compiler, and report it."
#define KERNEL "Change shapes, blocks or dtypes of the kernel named there."
#define CODE "Correct the program where this is raised."
#define CACHE "Remove the entry named there, or give each version and machine a directory of its own."

static const struct error_rule items[] = {
    /* ---- memory: which one ---- */
    { "shm-full", RULE_FORM, OWNER_LAUNCH, NULL,
      "out of shared memory|insufficient shared memory|/dev/shm|shared memory segment|increase shm|--shm-size|"
      "shmmax|unable to open shared memory object|unable to write to file </torch",
      NULL, "requires more shared|Triton|OutOfResources|permission denied", 0, SHM },
    { "compile-cache", RULE_FORM, OWNER_CACHE, NULL,
      "compilation cache|compilation_cache|compile cache|torch_extensions|torchinductor_|inductor/fxgraph|"
      "FxGraphCache|FXGraphCache|.triton/cache|triton_cache|TRITON_CACHE|xla_cache|jit_cache|jax_cache|"
      "neff_cache|neuron-compile-cache|AOTAutogradCache|ComputeCache|deserialize executable|"
      "deserialize_executable|deserializing executable|kernel cache|numba cache|__pycache__|bad marshal data|"
      "cpu_aot_loader|cached executable|torch_compile_cache",
      "No such file|corrupt|truncat|invalid|fail|error|mismatch|cannot|could not|unable|stale|EOF|feature",
      "not writing|Persistent compilation cache miss|No space", 0, CACHE },
    { "oom-counter", RULE_FORM, OWNER_HOST, NULL,
      "oom_kill event|oom-kill|Out of memory: Kill|Memory cgroup out of memory|OOMKilled|invoked oom-killer|"
      "cgroup out-of-memory|out-of-memory handler|SIG_OOM|memory monitor|exceeded memory limit|"
      "node was low on resource|low on memory|due to memory pressure|exceeded step memory limit|"
      "Exceeded job memory limit|worker exceeded|memory budget|OutOfMemoryError: Task was killed|"
      "Task was killed due to|: Out Of Memory",
      NULL, "memory space|RESOURCE_EXHAUSTED|possible|may have|might|probably|likely|cuda|potential root causes", 0,
      MEMORY },
    { "ssh-refused", RULE_FORM, OWNER_LAUNCH, NULL, "ssh: connect to host", "refused", NULL, 0,
      "Start the ssh server of that host, or correct the name and the port." },
    { "device-memory-held", RULE_FORM, OWNER_DEVICE, NULL,
      "Free memory on device|other processes are using|another process is using the GPU|in use by other process",
      "memory", NULL, 0, HOLDER },
    { "device-memory", RULE_FORM, OWNER_PROGRAM, NULL,
      "CUDA out of memory|HIP out of memory|XPU out of memory|CUDA error: out of memory|"
      "CUDA_ERROR_OUT_OF_MEMORY|ran out of memory in memory space|Attempting to reserve|memory space hbm|"
      "memory space vmem|memory space smem|hbm capacity|scoped vmem|Exceeded hbm|OOM when allocating tensor|"
      "CUBLAS_STATUS_ALLOC_FAILED|No available memory for the cache blocks|for the KV cache|"
      "larger than the maximum number of tokens that can be stored in KV cache|"
      "out of memory while trying to allocate|Failed to allocate request for|Out of memory allocating|"
      "Out of memory while trying|BFC|while allocating|larger than the available device memory|"
      "exceeds GPU memory|insufficient memory on device|Not enough memory for|"
      "Failed to allocate memory on device|outOfMemory|not enough GPU memory|OutOfMemoryError",
      NULL, "Unable to allocate|pthread|mmap|cuMemHostAlloc|pinned|cudaHostAlloc|ncclUnhandled", 0, SHRINK },
    { "host-pinned", RULE_FORM, OWNER_HOST, NULL,
      "memlock|cuMemHostRegister|cuMemHostAlloc|cudaHostAlloc|ibv_reg_mr|VFIO_IOMMU_MAP_DMA|RLIMIT_|ulimit|"
      "pinned host memory",
      NULL, NULL, 0, "Raise the limits of this host (locked memory, open files, processes: ulimit -a)." },
    { "host-memory", RULE_FORM, OWNER_HOST, NULL,
      "std::bad_alloc|Cannot allocate memory|DefaultCPUAllocator: can't allocate|"
      "DefaultCPUAllocator: not enough|Unable to allocate|cannot allocate vector|MemoryError|"
      "not enough memory: you tried|out of memory (host)",
      NULL, "static TLS|shape|device memory|GPU", 0, MEMORY },
    { "host-threads", RULE_FORM, OWNER_HOST, NULL,
      "can't start new thread|pthread_create|Resource temporarily unavailable|fork: retry|"
      "libgomp: Thread creation|std::system_error|no child processes left|Cannot fork|inotify|"
      "Too many open files|file-max|nofile",
      NULL, "Connection|socket|lock|http", 0,
      "Raise the limits of this host (open files, processes, threads: ulimit -a), or start fewer workers." },
    /* ---- disk and file systems ---- */
    { "disk-space", RULE_FORM, OWNER_HOST, NULL,
      "No space left on device|no space left|Disk quota exceeded|ENOSPC|EDQUOT|disk is full|disk full|"
      "ephemeral-storage|PytorchStreamWriter failed writing|Not enough free disk space|not enough disk space|"
      "unexpected pos|Exceeded disk|out of disk",
      NULL, "/dev/shm", 0, SPACE },
    { "kernel-old", RULE_FORM, OWNER_HOST, NULL, "FATAL: kernel too old", NULL, NULL, 0,
      "The C library needs a newer kernel than this host has." },
    { "bus-error", RULE_PRIOR, OWNER_LAUNCH, NULL, "Bus error|SIGBUS", NULL, "bus_error|Caught signal", 0, SHM },
    { "disk-broken", RULE_FORM, OWNER_HOST, NULL,
      "Input/output error|Read-only file system|EXT4-fs error|XFS (|I/O error, dev|blk_update_request|"
      "Buffer I/O error|Stale file handle|ESTALE|Transport endpoint is not connected|Structure needs cleaning|"
      "Remote I/O error|Stale NFS",
      NULL, "XFS_", 0, "Look at the kernel's log and at the mount named there; take the host out until it is mended." },
    { "mount-failed", RULE_FORM, OWNER_PLATFORM, NULL,
      "MountVolume.SetUp failed|Unable to attach or mount|nfs: server|mount.nfs|LustreError|Lustre: |"
      "AttachVolume.Attach failed|LNetError|FailedMount|FailedAttachVolume|not responding, still trying|"
      "mount.lustre",
      NULL, "not found|no such file|configmap|secret", 0, SERVICE },
    /* ---- loader, ABI, interpreter ---- */
    { "driver-library", RULE_FORM, OWNER_HOST, NULL,
      "libcuda.so|libnvidia-ml|libnvidia-|libtpu.so: cannot open|nvidia-container-cli|"
      "driver/library version mismatch|NVIDIA-SMI has failed|couldn't communicate with the NVIDIA driver|"
      "Failed to initialize NVML|Found no NVIDIA driver|unknown or invalid runtime name|"
      "Unknown runtime specified|NVIDIA driver on your system is too old|driver version is insufficient|"
      "nvidia-smi: command not found|could not select device driver|NVML Shared Library Not Found|"
      "no NVIDIA driver|libcuda reported version|NVRM: API mismatch|nvidia-modprobe|NVMLError|"
      "CUDA driver initialization failed|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|CUDA_ERROR_COMPAT_NOT|"
      "system not yet initialized|fabric manager|CUDA_ERROR_SYSTEM_NOT_READY|unsupported display driver|"
      "kernel module|amdgpu|ROCk module|Kernel driver",
      NULL, NULL, 0, DRIVER },
    { "module-local", RULE_FORM, OWNER_LAUNCH, NULL,
      "No module named 'src|No module named 'utils|No module named 'config|No module named 'models'|"
      "No module named 'main|No module named 'train|No module named 'scripts|No module named 'tools'|"
      "No module named 'lib'|No module named 'data'|No module named 'common'|No module named 'core'",
      NULL, NULL, 0, "Start the program in its own folder, or set PYTHONPATH." },
    { "module-missing", RULE_FORM, OWNER_BUNDLE, NULL, "No module named|ModuleNotFoundError", NULL, NULL, 0, PINS },
    { "import-circular", RULE_FORM, OWNER_PROGRAM, NULL, "partially initialized module|circular import", NULL,
      "site-packages|dist-packages", 0, CODE },
    { "launcher-cache", RULE_FORM, OWNER_CACHE, NULL,
      "importing __triton_launcher|importing cuda_utils|importing __grouped_gemm", NULL, NULL, 0, CACHE },
    { "cache-advice", RULE_FORM, OWNER_CACHE, NULL,
      "Delete your|delete the cache|clear the cache|remove the cache|Clear the cache|clear your cache|"
      "delete your",
      "cache", "kv cache|memory|empty_cache", 0, CACHE },
    { "import-name", RULE_FORM, OWNER_BUNDLE, NULL, "cannot import name|DLL load failed|multiarray failed to import",
      NULL, NULL, 0, PINS },
    { "library-loader", RULE_FORM, OWNER_BUNDLE, NULL,
      "cannot open shared object file|undefined symbol|symbol lookup error|GLIBC_|GLIBCXX_|CXXABI_|"
      "invalid ELF header|wrong ELF class|file too short|static TLS block|symbol not found|Library not loaded|"
      "no version information|error while loading shared libraries|image not found|unknown symbol|"
      "cannot load library|Could not load library|ELF load command|cannot enable executable stack",
      NULL, NULL, 0, PINS },
    { "binary-abi", RULE_FORM, OWNER_BUNDLE, NULL,
      "binary incompatibility|compiled using NumPy 1|_ARRAY_API not found|compiled against API version|"
      "compiled against ABI version|size changed, may indicate|was compiled with|was built with|"
      "was built using|built to use|was built for|was not built with|not built with|Unable to locate package|"
      "Illegal instruction|SIGILL|Exec format error|not compiled with|no kernel image is available|"
      "no kernel image|Torch not compiled with|CPU-only version|without CUDA support|incompatible architecture|"
      "compiled without|built without|is not a supported wheel|undefined reference|free(): invalid pointer|"
      "double free or corruption|PJRT API version|Attributes_Args size|_Args size|"
      "not compatible with the current PyTorch installation|Please use a build of|not enabled in this build",
      NULL, "torch.compile|Loss|recompil|cudaErrorNoKernelImageForDevice in", 0, PINS },
    { "operator-missing", RULE_FORM, OWNER_BUNDLE, NULL,
      "operator torchvision::|Could not run 'torch|Couldn't load custom C++ ops", NULL, NULL, 0, PINS },
    { "toolchain", RULE_FORM, OWNER_BUNDLE, NULL,
      "Error building extension|Error compiling objects|unsupported GNU version|Unsupported gpu architecture|"
      "CUDA_HOME|nvcc fatal|mismatches the version that was used to compile|is not defined for option|"
      "Unsupported .version|needs a newer|gcc: error|g++: error|fatal error: |cannot find -l|ld returned|"
      "No CMAKE_|CMake Error|cc1plus|collect2:|Failed building wheel|Failed to build|"
      "metadata-generation-failed|subprocess-exited-with-error|Could not build wheels|legacy-install-failure|"
      "C compiler cannot create|Failed to find C compiler|Python.h|ninja is required|nvcc not found|cargo: |"
      "rustc ",
      NULL, "ModuleNotFoundError|failed to solve|failed to resolve", 0,
      "Use a toolchain that fits the package, or a wheel that is built for this machine." },
    { "versions", RULE_FORM, OWNER_BUNDLE, NULL,
      "is required for a normal functioning|but you have|but found|but this version|requires version|"
      "has requirement|VersionConflict|DistributionNotFound|ResolutionImpossible|conflicting dependencies|"
      "No matching distribution|PackagesNotFoundError|UnsatisfiableError|LibMambaUnsatisfiable|"
      "not a supported version|nothing provides|does not exist (perhaps a typo or a missing channel)|"
      "incompatible with|is incompatible|minimum version|Please upgrade|please upgrade|Please update|"
      "upgrade your|update transformers|upgrade to|Please downgrade|downgrade|Try upgrading|older version|"
      "newer version of|outdated|too old|version mismatch|Version mismatch|requires a newer|is not installed|"
      "needs to be installed|not been installed|must be installed|to be installed|pip install|conda install|"
      "Please install|please install|requires the|library but it was not found|PackageNotFoundError|"
      "No package metadata|does not recognize this architecture|requires Python|Requires-Python|"
      "requires a different Python|THESE PACKAGES DO NOT MATCH|externally-managed-environment|"
      "unregistered operation|does not allow unknown operations|unsupported StableHLO|newer than the version|"
      "built by a newer|serialization version|not available in this library|Pickle protocol|"
      "unsupported pickle protocol|is deprecated and has been removed|has been removed in|was removed in|"
      "has been deprecated and removed|no longer supported|no longer exists|support for this was removed|"
      "The minimum required version|does not support the version|bad magic number|"
      "invalid syntax in site-packages",
      NULL,
      "driver|scalar type|dtype|requires the shape|argument|torch.load|log "
      "in|login|HF_TOKEN|gated|api_version|dimension|"
      "same shape|shapes|are incompatible for broadcasting|access token",
      0, PINS },
    /* ---- device ---- */
    { "host-hardware", RULE_FORM, OWNER_HOST, NULL,
      "Machine Check|mce: [Hardware|[Hardware Error]|CATERR|EDAC|soft lockup|kernel BUG|Kernel panic|"
      "rejected by pids controller",
      NULL, "0 CE", 0, "Look at the kernel's log of this host; take it out until it is mended." },
    { "host-login", RULE_FORM, OWNER_HOST, NULL,
      "Expired credential|Rewound credential|Munge decode failed|Invalid job credential|munged", NULL, NULL, 0,
      "Compare clock and munge key of this host with the others." },
    { "image-name", RULE_FORM, OWNER_LAUNCH, NULL,
      "failed to resolve reference|manifest for|failed to pull and unpack image|repository does not exist",
      "not found|does not exist|manifest unknown", NULL, 0, "Correct the image's name and tag." },
    { "device-broken", RULE_FORM, OWNER_DEVICE, NULL,
      "uncorrectable ECC|ECC error|double bit|Xid|fallen off the bus|GPU is lost|GPU recovery|"
      "hardware stack error|CUDA_ERROR_HARDWARE|NVLink|nvlink error|CUDA_ERROR_ECC|row remap|Core halted|"
      "chip is unhealthy|unhealthy chip|ICI link|ICI failure|HBM error|GPU has been reset|device lost|"
      "unrecoverable error|SLICE_FAILURE_CHIP|Bad TPU chip|bad TPU hardware|GPU requires reset|"
      "hang detected on ring|CUDA_ERROR_NVLINK|CUDA_ERROR_LAUNCH_FAILED: hardware|uncontained|Page retirement|"
      "link is down on port",
      NULL,
      "NVLink support|NVLink is|nvlink_|nvidia-container-cli: initialization|nvlink fatal|Xid 13|Xid 31|XIDs|"
      "NCCL_NVLS",
      0, HARDWARE },
    { "device-busy", RULE_FORM, OWNER_DEVICE, NULL,
      "already in use by process|busy or unavailable|CUDA_ERROR_DEVICE_UNAVAILABLE|is already in use|"
      "exclusive process|TPU is in use|libtpu.so is already in use|libtpu_lockfile|Unable to open accel|"
      "device is in use|Failed to acquire device|already loaded in the other process|devices are in use",
      NULL, "port|address|umount|mount point|text file", 0, HOLDER },
    { "device-absent", RULE_FORM, OWNER_DEVICE, NULL,
      "/dev/accel|/dev/vfio|Failed to get TPU|no TPU devices|No TPU devices|TPU initialization failed|"
      "failed to open /dev/nvidia|Unable to determine the device handle",
      NULL, "permission denied|operation not permitted|resource busy", 0,
      "See which devices this host has, whether the process may open them, and who holds them." },
    { "device-ordinal", RULE_FORM, OWNER_LAUNCH, NULL,
      "invalid device ordinal|CUDA_ERROR_INVALID_DEVICE|Duplicate GPU detected|CUDA_VISIBLE_DEVICES|"
      "no CUDA-capable device|CUDA_ERROR_NO_DEVICE|No CUDA GPUs are available|ROCR_VISIBLE|HIP_VISIBLE|"
      "Invalid device id|device_count|gpu ids|number of GPUs|GPUs are not available|invalid device index|"
      "requested gpu|No supported gpu backend",
      NULL, NULL, 0,
      "Compare the devices that the launch asks for with those of the host and with *_VISIBLE_DEVICES." },
    /* ---- launch ---- */
    { "usage", RULE_FORM, OWNER_LAUNCH, NULL,
      "unrecognized arguments|arguments are required|: error: argument|invalid choice|No such option|"
      "Unknown flag|unknown flag|unrecognized option|invalid option|Missing option|Unknown command line flag|"
      "Flags parsing error|unknown argument|Unrecognized argument|Missing argument|expected one argument|"
      "IllegalFlagValueError|UnrecognizedFlagError|is not a valid choice|unexpected argument|"
      "invalid argument '--|Could not override|MissingMandatoryValue|MissingConfigException|ConfigKeyError|"
      "ConfigAttributeError|ConfigCompositionException|Could not load config|unknown shorthand|unknown command|"
      "bad substitution|Key 'x' not in|validation error for|Extra inputs are not permitted|Error while parsing|"
      "while scanning|while parsing a block|mapping values are not allowed|Invalid config|"
      "invalid configuration|Unknown XLA flag|Unknown flags in XLA_FLAGS|Invalid value for|Unable to parse|"
      "is not a valid",
      NULL, "http|JobID|certificate", 0, COMMAND },
    { "variable-missing", RULE_FORM, OWNER_LAUNCH, NULL,
      "environment variable|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|'LOCAL_RANK'|'RANK'|environ[|not set in the env|"
      "env var|PJRT_DEVICE|JAX_PLATFORMS|TPU_WORKER|SLURM_|NCCL_SOCKET_IFNAME|is not set|must be set|"
      "unset variable|unbound variable|HF_TOKEN|WANDB_API_KEY|API_KEY",
      "not set|expected|must|missing|KeyError|required|undefined|unbound|is set to|invalid|no value|unknown|'|"
      "please",
      "Cannot re-initialize|timed out|refused|deprecat|OMP_NUM_THREADS|to automatically choose", 0,
      "Set the variable named there in the launch." },
    { "backend-asked", RULE_FORM, OWNER_LAUNCH, NULL,
      "Unknown backend|known backends|Unable to initialize backend|not in the list of known backends|"
      "No visible|requested platform",
      "backend|platform", "in use|Resource busy|No module|ABORTED|INTERNAL|UNKNOWN", 0,
      "Compare JAX_PLATFORMS or PJRT_DEVICE with the devices of the host." },
    { "script-mode", RULE_FORM, OWNER_LAUNCH, NULL,
      "bash: ./|sh: ./|/bin/sh: |/bin/bash: |caused: permission denied|exec: ", "permission denied", NULL, 0,
      "Make the script executable, or name its interpreter." },
    { "command-missing", RULE_FORM, OWNER_LAUNCH, NULL,
      "command not found|executable file not found|can't open file|cannot execute|"
      "No such file or directory: 'bash|StartError|exec: |ContainerCannotRun|not found in $PATH|"
      "RunContainerError|CreateContainerError|CreateContainerConfigError|no such image|manifest unknown|"
      "InvalidImageName|ErrImageNeverPull|bad interpreter|stat /|execve():|/bin/sh^M|not a valid identifier",
      NULL, "nvidia|libcuda|Exec format", 0, COMMAND },
    { "file-scheme", RULE_FORM, OWNER_LAUNCH, NULL, "File system scheme", "not implemented|not supported", NULL, 0,
      "Give a path that the workers can read (gs://)." },
    { "settings-argument", RULE_FORM, OWNER_LAUNCH, NULL,
      "Args.__init__() got|Arguments.__init__() got|Config.__init__() got|Options.__init__() got", "unexpected keyword",
      NULL, 0, COMMAND },
    { "port-taken", RULE_FORM, OWNER_LAUNCH, NULL,
      "Address already in use|EADDRINUSE|address already in use|Cannot assign requested address|EADDRNOTAVAIL|"
      "port is already allocated|Failed to bind|failed to listen on|port already in use|port is in use|"
      "bind failed|Only one usage of each socket",
      NULL, NULL, 0, "Choose a free port and an address of this host, or end the earlier run that holds it." },
    { "interface", RULE_FORM, OWNER_LAUNCH, NULL,
      "no socket interface found|No interface found|ifname|invalid network interface|"
      "unable to resolve hostname to|makeDeviceForHostname|makeDeviceForInterface|Unable to find address for|"
      "does not have an IPv6|coordinator_address",
      NULL, NULL, 0, "Compare address, port, interface and number of processes of the launch on all hosts." },
    { "world-size", RULE_FORM, OWNER_LAUNCH, NULL,
      "world size|world_size|Number of slices|number of processes|num_processes|nproc|tensor parallel size|"
      "tensor-parallel|pipeline_parallel|device mesh|mesh shape|number of devices|not enough slots|num_nodes|"
      "data_parallel|parallel_size|n_gpus|number of nodes|dcn_|ici_",
      "divisible|must|not equal|match|expected|exceeds|greater|less|invalid|not enough|does not|mismatch|but",
      "tensor a|shapes|heads|timeout|timed out", 0,
      "Compare the mesh and the number of processes with the hosts and devices." },
    { "allocation-asked", RULE_FORM, OWNER_LAUNCH, NULL,
      "Batch job submission failed|Invalid account|Invalid partition|Invalid qos|invalid partition specified|"
      "Requested node configuration is not available|More processors requested|Unable to create step|"
      "Invalid generic resource|Job violates accounting|QOSMax|AssocMax|PartitionTimeLimit|"
      "Unable to allocate resources|Memory specification can not be satisfied|Invalid job|Invalid node name|"
      "exceeded quota: |admission webhook|error validating|unknown field|no matches for kind|"
      "didn't match Pod's node affinity|didn't match node selector|untolerated taint|configmap|secret \"|"
      "persistentvolumeclaim|ServiceAccount|serviceaccount",
      NULL, "Socket timed out|Connection refused|slurmctld|gcloud", 0, COMMAND },
    { "credentials", RULE_FORM, OWNER_LAUNCH, NULL,
      "gated repo|Access to model|Invalid user token|Invalid username or password|You need to be logged in|"
      "log in to|huggingface-cli login|No API key|api_key client option|api key|"
      "Could not automatically determine credentials|could not find default credentials|"
      "Unable to locate credentials|credentials|InvalidAccessKeyId|Permission denied (publickey|"
      "Host key verification failed|Anonymous caller|authentication failed|Authentication failed|"
      "unauthorized: |pull access denied|Unauthorized|401 Client Error|UNPROTECTED PRIVATE KEY|"
      "AuthenticationError|not authorized|Invalid token|token is invalid|terminal prompts disabled|"
      "could not read Username|Repository Not Found|RepositoryNotFound|GatedRepoError|api_key not configured|"
      "LocalTokenNotFound|403 Client Error|401 Unauthorized|Error code: 401|response code 401|HTTP code 401",
      NULL, "metadata|special_tokens|oauth2: cannot fetch token", 0, CREDENTIALS },
    { "name-given", RULE_FORM, OWNER_LAUNCH, NULL,
      "is not a local folder and is not a valid model|Can't load tokenizer|Can't load config|"
      "Can't load the model|couldn't find a dataset script|DatasetNotFound|EntryNotFound|404 Client Error|"
      "HTTP Error 404|NoSuchBucket|bucket does not exist|Unknown bucket|NoSuchKey|"
      "does not appear to have a file named|is not a valid model identifier|Could not resolve hostname|"
      "no checkpoint found|No checkpoint|checkpoint not found|is not a directory|Revision Not Found|"
      "RevisionNotFound|invalid model name|model does not exist|Please provide|must provide|you must specify|"
      "must be specified|No such container|file not found|Not a directory|Is a directory|No files found|"
      "no data files|found 0 files|Incorrect path_or_model_id",
      NULL, "attribute|column|relation|in the environment|driver|lib|compiler|key |tensor|parameter|table|HLO", 0,
      "Correct the name or path that the launch gives." },
    { "name-perhaps", RULE_PRIOR, OWNER_LAUNCH, NULL,
      "Can't find|Could not find|Unable to find|couldn't find|cannot find|does not exist|is empty", NULL,
      "attribute|column|relation|in the environment|driver|lib|compiler|key |tensor|parameter|table|HLO|"
      "operator",
      0, "Correct the name or path that the launch gives." },
    /* ---- platform ---- */
    { "service-later", RULE_PRIOR, OWNER_PLATFORM, NULL,
      "try again later|try again in|again an hour later|temporarily unavailable|API is giving errors", NULL,
      "Resource temporarily", 0, SERVICE },
    { "preempted", RULE_FORM, OWNER_PLATFORM, NULL,
      "DUE TO PREEMPTION|DUE TO NODE FAILURE|DUE TO TIME LIMIT|DUE TO JOB REQUEUE|preempted|Preempted|"
      "preemption notice|spot instance|Spot VM|imminent node shutdown|maintenance event|TerminationByKubelet|"
      "node is not ready|NodeNotReady|NodeLost|node has been terminated|instance was terminated|"
      "TaintManagerEviction|NODE_FAIL|host maintenance|node failure|Node failure|NodeShutdown|Deleting node|"
      "drained|scheduled maintenance|instance is being terminated",
      NULL,
      "got preempted|or preempted|preempted, or|preemptible: |preemption_sync|preemption notice|PreemptionSync|"
      "Failed to retrieve preemption|low on resource|(e.g.|max_num_preempt|Sequence group",
      0, "The scheduler or the cloud took the node or the time: run again, with more time or elsewhere." },
    { "capacity", RULE_FORM, OWNER_PLATFORM, NULL,
      "no more capacity|CapacityError|Unable to "
      "provision|RESOURCE_POOL_EXHAUSTED|stockout|STOCKOUT|InsufficientInstanceCapacity|quota exceeded|"
      "Quota exceeded|QUOTA_EXCEEDED|exceed quota|quota metrics|rate limit|Too Many Requests|toomanyrequests|"
      "429 Client|HTTP code 429|status code 429|Rate limit|ThrottlingException|SlowDown|throttl|"
      "Insufficient google.com/tpu|Insufficient nvidia.com/gpu|Insufficient cpu|Insufficient memory|"
      "FailedScheduling|nodes are available|Reserved capacity|reserved capacity|out of capacity|"
      "limit exceeded for",
      NULL, "Disk quota|didn't match|taint|affinity|ratelimited|thermal", 0, SERVICE },
    { "name-service", RULE_FORM, OWNER_PLATFORM, NULL,
      "Temporary failure in name resolution|Name or service not known|getaddrinfo failed|gaierror|"
      "nodename nor servname|Could not resolve host|NameResolutionError|Failed to resolve|no such host|"
      "server misbehaving|i/o timeout on|SERVFAIL|No address associated with hostname|DNS resolution failed|"
      "Domain name not found|getaddrinfo",
      NULL, NULL, 0, "Look at the name servers of this host and at the name itself." },
    { "tls", RULE_FORM, OWNER_PLATFORM, NULL,
      "CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLError|SSLEOFError|SSL_ERROR|x509: |"
      "self signed certificate|self-signed certificate|certificate has expired|wrong version number|"
      "unable to get local issuer|handshake failure|TLS handshake|ProxyError|Tunnel connection failed|"
      "SSLCertVerif",
      NULL, "not yet valid", 0, "Look at the proxy and the certificates between this host and the service." },
    { "clock", RULE_FORM, OWNER_HOST, NULL,
      "is not yet valid|clock skew|Clock skew|RequestTimeTooSkewed|Release file for|clock is not synchronized|"
      "time drift|timestamp in the future|within a reasonable timeframe",
      NULL, NULL, 0, "Set the clock of this host, and see why it is not synchronised." },
    { "service", RULE_FORM, OWNER_PLATFORM, NULL,
      "Max retries exceeded|503 Server Error|502 Server Error|500 Server Error|504 Server Error|503 Service|"
      "502 Bad Gateway|504 Gateway|Service Unavailable|Bad Gateway|Gateway Time|Internal Server Error|"
      "ReadTimeoutError|ConnectTimeout|Read timed out|RemoteDisconnected|Couldn't reach|We couldn't connect to|"
      "Connection aborted|HTTP code 5|HTTP code 403|TransportError|ServiceUnavailable|storage.googleapis.com|"
      "does not have storage.|AccessDenied|Access Denied|insufficient authentication scopes|"
      "scope(s) are not authorized|Forbidden|PERMISSION_DENIED: Permission|metadata.google.internal|"
      "169.254.169.254|Metadata server|metadata server|ServerError|ClientPayloadError|ServerDisconnected|"
      "IncompleteRead|ChunkedEncodingError|slurm_load|Unable to contact slurm|slurmctld|"
      "Socket timed out on send/recv|context deadline exceeded|connection reset by peer: http|etcdserver|"
      "the server was unable to return|Zero Bytes Response|kex_exchange_identification|"
      "ssh_exchange_identification|banner exchange|Connection timed out|Operation timed out|No route to host|"
      "Network is unreachable|network is unreachable|Host is down|EHOSTUNREACH|ENETUNREACH|Host unreachable|"
      "LocalEntryNotFoundError|check your internet connection|Internet connection|unable to access 'http|"
      "early EOF|RPC failed; curl|TimeoutError: [Errno 110]|An error happened while trying to locate|"
      "Connection broken|Failed to download|Error downloading|E: Failed to fetch|Cannot retrieve|"
      "Hub is not reachable|upstream connect",
      NULL,
      "rdzv|c10d|TCPStore|MASTER_ADDR|NCCL WARN|connect to the coordinator|/dev/|gloo|barrier|local path|"
      "manifest unknown|trying next|trying again|retrying",
      0, SERVICE },
    /* ---- compiler ---- */
    { "kernel-shape", RULE_FORM, OWNER_PROGRAM, NULL,
      "aligned to tiling|divisible by 8 and 128|cannot statically prove|must be a multiple of|block shape|"
      "BlockSpec|Unsupported matmul RHS|Unsupported input data type|Unimplemented primitive in Pallas|"
      "out of resource: shared memory|OutOfResources|uses too much shared data|Static device assignment|"
      "cannot be automatically partitioned|scoped allocation|exceeds vmem|tile shape|unaligned|Required: |"
      "Hardware limit:|too many resources requested|Only interpret mode is supported|block size|Bad lhs type|"
      "Bad rhs type",
      "mosaic|pallas|kernel|triton|vmem|tiling|ptxas|shared memory|primitive|block|launch|CUDA", NULL, 0, KERNEL },
    { "compiler-internal", RULE_FORM, OWNER_COMPILER, NULL,
      "Mosaic failed to compile|Internal TPU kernel compiler error|internal verification|Failed after |"
      "LLVM ERROR|Cannot select|PassManager::run failed|failed to legalize|LLVM Fatal|during context [|"
      "InductorError|LoweringException|BackendCompilerFailed|InternalTorchDynamoError|Internal compiler error|"
      "internal compiler error|compiler crashed|backend compiler failed|CppCompileError|ptxas fatal|"
      "ptxas error|nvlink fatal|NVRTC|TritonGPU|ttgir|MLIR|_emitter.cc|hlo_verifier|hlo_sharding|"
      "spmd_partitioner|SpmdPartition|layout_assignment|TpuCompiler|compile permanent error|"
      "Unsupported conversion|UnsupportedOperatorException|PLEASE submit a bug report|Please file a bug|"
      "please report a bug|file an issue against|This is a bug in|report this issue to|Pass 'TritonGPU|"
      "failed to translate module|CompileTimeInternal|torch._inductor.exc|error in backend|ConvertTritonGPU|"
      "triton.compiler.errors|make_llir|make_ttgir",
      NULL,
      "pipeline-start|No module|cannot open shared|Unsupported: |user code|torch._dynamo.exc.Unsupported|"
      "hash mismatch|out of memory|space left",
      0, REPORT },
    { "graph-wrong", RULE_FORM, OWNER_PROGRAM, NULL, "pipeline-start", NULL, NULL, 0, CODE },
    /* ---- program ---- */
    { "not-finite", RULE_FORM, OWNER_PROGRAM, NULL,
      "loss is nan|Loss is nan|loss: nan|loss is NaN|invalid value (nan)|non-finite|nan encountered|"
      "inf encountered|contains NaN|contains inf|probability tensor contains|returned nan values|loss is inf|"
      "Nan loss|NaN loss|current loss scale already at minimum|cannot decrease scale|input contains NaN|"
      "nan or inf|NaN or Inf",
      NULL, NULL, 0, "Look at the data, the learning rate and the dtype of the step." },
    { "device-assert", RULE_FORM, OWNER_PROGRAM, NULL,
      "device-side assert triggered|IndexKernel.cu|indexSelectLargeIndex|illegal memory access|"
      "index out of bounds|out of bounds|CUDA_ERROR_ILLEGAL_ADDRESS|CUDA_ERROR_ASSERT|misaligned address|"
      "srcIndex < srcSelectDimSize|t >= 0 && t < n_classes|input_val >= zero",
      NULL, "cudaErrorHardware|Xid", 0,
      "An index leaves its table: run with CUDA_LAUNCH_BLOCKING=1, and check ids and labels." },
    { "shapes", RULE_FORM, OWNER_PROGRAM, NULL,
      "shapes cannot be multiplied|mat1 and mat2|must match the size of tensor|size of tensor a|"
      "Incompatible shapes|incompatible shapes|shape mismatch|Shape mismatch|shape '|invalid for input of size|"
      "expected shape|Expected shard shape|got shape|same shape|size mismatch|Sizes of tensors must match|"
      "dimension mismatch|"
      "could not be broadcast|broadcastable|stack expects each tensor|expected input batch_size|"
      "Dimension out of range|expected scalar type|same dtype|expected m1 and m2|dot_general|same device|"
      "on different devices|must have same|Expected input|Expected tensor|Given groups=|"
      "different number of dimensions|mixed dtype|implicit|divisible by|inconsistent sizes|must be divisible|"
      "tensor sizes|cannot reshape|number of dimensions|rank mismatch|Expected size|inhomogeneous shape|"
      "is not divisible",
      NULL, "Received incompatible devices", 0, CODE },
    { "autograd", RULE_FORM, OWNER_PROGRAM, NULL,
      "does not require grad|modified by an inplace operation|backward through the graph a second time|"
      "Expected to have finished reduction|marked as ready twice|one of the variables needed for gradient|"
      "leaf Variable|unused parameters",
      NULL, NULL, 0, CODE },
    { "tracing", RULE_FORM, OWNER_PROGRAM, NULL,
      "TracerBoolConversion|ConcretizationTypeError|UnexpectedTracerError|Abstract tracer|leaked tracer|Leaked|"
      "graph break|Dynamic control flow|data-dependent",
      NULL, NULL, 0, CODE },
    { "arrays", RULE_FORM, OWNER_PROGRAM, NULL,
      "donated|deleted buffer|Array has been deleted|buffer has been deleted|Buffer has been deleted|"
      "Received incompatible devices|Sharding|PartitionSpec|is not a valid JAX type",
      NULL, NULL, 0, CODE },
    { "python", RULE_FORM, OWNER_PROGRAM, NULL,
      "Cannot re-initialize CUDA in forked|fork_rng|not JSON serializable|Can't pickle|cannot pickle|"
      "Can't get local object|maximum recursion depth|dictionary changed size|bootstrapping phase|"
      "if __name__ == '__main__'|Out of range float values|state_dict|not subscriptable|is not iterable|not callable|"
      "object is not|NoneType|unhashable|unsupported operand",
      NULL, "weights_only", 0, CODE },
};
const struct error_rules words_rules = { items, sizeof items / sizeof items[0] };
