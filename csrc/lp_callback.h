/* A function of C as an object to call: of a type of our own with a vectorcall
 * slot, the cheapest callable that the interpreter knows.
 */
#ifndef LP_CALLBACK_H
#define LP_CALLBACK_H

#include "lp_python.h"

#if LP_HAVE_MONITORING

/* [GIL] New reference, or NULL with an exception. */
PyObject *lp_callback_new(vectorcallfunc call);

#endif
#endif
