/* What a callable is that is no function of Python. */
#ifndef LP_CALLABLE_H
#define LP_CALLABLE_H

#include "lp_python.h"

/* Objects of a class are one function of C; or one each, as ufuncs, which have
 * names of their own; or none: it has a __call__ in Python. */
typedef enum lp_kind { LP_BY_CLASS, LP_BY_NAME, LP_NOT_C } lp_kind;

/* What is told apart where an object of some class is called. */
lp_kind lp_callable_kind(PyObject *object);

/* Its name with its module's: "builtins.len", "list.append".  A new string, or
 * NULL when memory is out. */
PyObject *lp_callable_name(PyObject *object);

#endif
