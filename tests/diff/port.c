// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The stress test's port to the kernel: an object cannot be of two modules. */
#include "../stress/port_kernel.c"
