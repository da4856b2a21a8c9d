/* What `threading` calls a thread: it is asked for while the thread lives. */
#ifndef LP_THREAD_NAME_H
#define LP_THREAD_NAME_H

#include "lp_python.h"

/* [GIL] Write the name of the thread, as the interpreter numbers it, in UTF-8
 * and cut to fit; empty where it has none.  Runs no Python, leaves an
 * exception in flight alone. */
void lp_thread_name(uint64_t python_thread, char *name, size_t bytes);

#endif
