/* Kernel: the file under test, which the build names, compiled for the host. */
#include KERNEL_FILE

[[maybe_unused]] static const bool begun = pk_shim_begin();
