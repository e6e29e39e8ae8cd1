/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <linux/types.h>

struct module;

#define THIS_MODULE	((struct module *)NULL)
