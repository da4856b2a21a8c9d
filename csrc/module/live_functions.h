/* The live file in Python: see record/live_file.h and record/live_reader.h. */
#ifndef LP_MODULE_LIVE_FUNCTIONS_H
#define LP_MODULE_LIVE_FUNCTIONS_H

#include "engine/python_compat.h"

/* [GIL] Functions of the module:
 *
 * live_open(path, clock): create the live file of this process, before its
 * first tracer; `clock` is the name of the clock that tracers will have.
 * OSError if it cannot be created.
 *
 * live_move(path): in a forked child, continue in a file of its own; OSError
 * if it cannot be created, or there is nothing to move.
 *
 * live_note(data): append bytes to the log of the file, if there is one.
 *
 * live_unwatch_signals(): remove the handlers of deadly signals, which note of
 * which one the process dies.
 *
 * live_close(reason, remove): the run is over.
 *
 * live_read(data, later=None, now=0): the contents of a file in a writable
 * buffer that is changed: (header, threads, codes, calls, waits, notes,
 * open_lines).  If its process runs, `later` is a copy that was read
 * afterwards, and `now` a time in between, in its ticks.  The header is a dict
 * of numbers; threads, calls and waits are those of a snapshot, but a thread
 * may be None; codes has (tracer, serial, file, line, name, counts), with file
 * None for a C function, and counts a list of (calls, total, total_cost,
 * recursed, lines), one for each thread; open_lines has (serial, line, number
 * of the thread, ticks when it was opened), the outermost of a thread first.
 *
 * live_notes(data): the state and the notes alone, also of a process that
 * runs.
 *
 * live_clock(name): the present time on that clock, in ticks, and in ns of
 * CLOCK_MONOTONIC; ValueError if this system has no such clock.
 *
 * live_read and live_notes: ValueError if it is not a live file,
 * NotImplementedError if another build of lineprof wrote it. */
extern PyMethodDef lp_live_functions[];

#endif
