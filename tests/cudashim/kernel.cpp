/* Kernel: the file under test, which the build names, compiled for the host. */
#include KERNEL_FILE
