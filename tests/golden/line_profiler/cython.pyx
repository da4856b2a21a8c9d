cdef class Point:
    cpdef double length(self):
        cdef double x = 1.0
        return x

    property size:
        def __get__(self):
            return 2

cdef double added(
        double a, double b):
    return a + b

def plain():
    return 1
