/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * DAT 2.0 in the place of DAT 1.2. What is compiled with -Iudapl-shim/face2 before -Iinclude, the
 * library and its tests a second time, finds this header and its neighbour where it asks for those
 * of 1.2. A program includes <dat2/udat.h> itself.
 */
#include <dat2/udat.h>
