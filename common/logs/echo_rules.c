/* echo_rules.c - errors that only repeat what became of somebody else, and what follows from any end. */
#include "common/logs/error_rule.h"

#define CHILD "Look at the first error of the process named there."
#define PEER "Look at the host or process named there, and at who printed an error of its own first."

static const struct error_rule items[] = {
    /* after the end, or in healthy runs */
    { "aftermath", RULE_AFTERMATH, OWNER_UNKNOWN, NULL,
      "resource_tracker:|leaked semaphore|leaked shared_memory|destroy_process_group|"
      "without an active exception|cannot schedule new futures after|interpreter shutdown|"
      "For simplicity, JAX has removed|JaxStackTraceBeforeTransformation|Set JAX_TRACEBACK_FILTERING|"
      "Raising signal 15|coredump_hook|symbolize.stripped|Failed to register factory|Unable to register cu|"
      "Driver shutting down|terminate handler called|ComputationClient already initialized|PDEATHSIG|"
      "context has already been set|atexit|_prepare_to_exit|after shutdown|event loop is closed|"
      "is already closed|already been shut down",
      NULL, NULL, 0, NULL },
    { "aftermath-type", RULE_AFTERMATH, OWNER_UNKNOWN,
      "SimplifiedTraceback|JaxStackTraceBeforeTransformation|GeneratorExit|CancelledError|StopIteration|"
      "StopAsyncIteration",
      NULL, NULL, NULL, 0, NULL },
    /* healthy hosts without that device print these */
    { "aftermath-fallback", RULE_AFTERMATH, OWNER_UNKNOWN, NULL,
      "falling back to|fall back to|Falling back|will be disabled|is not supported, using|using slow|"
      "Could not load dynamic library|Cannot dlopen some GPU libraries|Skipping registering GPU|"
      "This TensorFlow binary is optimized|TF-TRT Warning",
      NULL, "Error:|Errno", 0, NULL },
    /* own children */
    { "child-failed", RULE_CHILD, OWNER_UNKNOWN,
      "ChildFailedError|CalledProcessError|BrokenProcessPool|BrokenProcessPoolError|ProcessExitedException|"
      "WorkerCrashedError|ActorDiedError|RayActorError|ActorUnavailableError",
      NULL, NULL, NULL, 0, CHILD },
    { "child-exit", RULE_CHILD, OWNER_UNKNOWN, NULL,
      "returned non-zero exit status|exitcode: |exited with exit code|Exited with exit code|"
      "Primary job  terminated|Primary job terminated|mpirun has exited|process returned a non-zero|"
      "DataLoader worker (pid|died with <Signals|job aborted|noticed that process rank|"
      "Process completed with exit code|The first process to do so was|srun: error: |BAD TERMINATION|"
      "exited on signal|Engine core initialization failed|EngineCore failed|See root cause above|"
      "see the log above|see above for|Sending process|closing signal SIGTERM|Terminating StepId|"
      "Back-off restarting failed container|CrashLoopBackOff|exits with return code|subprocess.CalledProcess|"
      "Worker exited|Some workers|Worker proc|child process exited|killing subprocess|worker group|WorkerGroup|"
      "rank 0 in job|failed (exitcode|Killing subprocess|command terminated with exit code|errorCode|"
      "ninja: build stopped|BackoffLimitExceeded|container exited|Root Cause (first observed failure)|"
      "failed with return code|failed with exit code|Job failed with|error: task|error: *** STEP|error: *** JOB|task "
      "failed|Main process exited|Failed with result",
      NULL,
      "Unable to create|Invalid|credential|DUE TO TIME|DUE TO PREEMPT|DUE TO NODE|DUE TO JOB|oom|out of memory|"
      "Out Of Memory|terminated by signal: Bus|shared memory|No such file|not found|ProcessRaisedException",
      0, CHILD },
    /* other hosts; who only waited for the others complains of them, and compares the launch where nobody has a cause of its own */
    { "waited-for-others", RULE_PEER, OWNER_LAUNCH, NULL,
      "Timed out initializing process group|worker_count=|clients joined|RendezvousTimeoutError|"
      "RendezvousConnectionError|RendezvousStateError|DistStoreError|failed to connect to any network address|"
      "client socket has failed|Timed out after",
      "rendezvous|store|join|worker_count|connect|barrier", "http|ssh|huggingface", 0,
      "Compare address, port and number of processes of the launch on all hosts; see which one did not come." },
    { "peer-gone", RULE_PEER, OWNER_PEER, NULL,
      "Connection closed by peer|Connection closed by remote peer|Connection reset by peer|"
      "reset by remote peer|remote process exited|lost communication with a remote daemon|"
      "remote process has failed|ncclRemoteError|Socket closed|heartbeat timeout|stopped sending heartbeats|"
      "missed heartbeats|Barrier timed out|Barrier failed|coordination service|DistributedRuntimeService|"
      "Application timeout caused pair closure|timed out waiting for peer|another task died|"
      "remote task has failed|task is set to ERROR|unhealthy task|should dump|FlightRecorder|Broken pipe|"
      "recvBytes|sendBytes|recvValue|Stop_waiting response|peer is gone|peer has failed|other ranks|"
      "another rank|one of the ranks|remote host closed|failed to pass monitoredBarrier|"
      "Connection closed by foreign|endpoint timeout|ucp_ep|lost connection to worker|ms for recv operation|"
      "ms for send operation|aborted by another rank",
      NULL,
      "http|ssh|s3|gs://|storage.|huggingface|pypi|registry|metadata|github|dockerhub|docker.io|mysql|redis|"
      "api.",
      0, PEER },
    /* the rank that is behind is the cause, and this text does not say which one it is */
    { "collective-timeout", RULE_PEER, OWNER_UNKNOWN, NULL,
      "collective operation timeout|Watchdog caught|watchdog thread terminated with exception|"
      "NCCL communicator was aborted|monitoredBarrier|should dump",
      NULL, "CUDA error", 0, "Compare the sequence numbers of all ranks: look at the one that is behind, or silent." },
    { "peer-collective", RULE_PEER, OWNER_PEER, NULL,
      "Gloo all|gloo/transport|Gloo connectFullMesh|ncclAllReduce failed|aborting the process|"
      "Process group watchdog",
      NULL, "CUDA error|Connection refused|NCCL WARN|Cuda failure|ifname|interface|hostname", 0, PEER },
    { "peer-type", RULE_PEER, OWNER_PEER,
      "ConnectionResetError|BrokenPipeError|ConnectionAbortedError|IncompleteReadError", NULL, NULL,
      "http|huggingface|storage|s3|gs://|pypi",
      RAISED (PACKAGE_NONE) | RAISED (PACKAGE_USER) | RAISED (PACKAGE_GROUP) | RAISED (PACKAGE_CHILDREN) |
          RAISED (PACKAGE_STANDARD) | RAISED (PACKAGE_BACKEND),
      PEER },
};
const struct error_rule peer_unnamed_rule = {
    "peer-unnamed",
    RULE_PEER,
    OWNER_UNKNOWN,
    NULL,
    NULL,
    NULL,
    NULL,
    0,
    "Another host or process was gone, and nothing here says which: look at who printed an error of its own."
};
const struct error_rules echo_rules = { items, sizeof items / sizeof items[0] };
