/* A table of file descriptors for one thread.
 *
 * A program that has used up its descriptors, or lowered its limit of them,
 * leaves none to map or to write files with, and none of its own may be
 * closed.  But a thread may leave the table that all threads share: what it
 * opens and closes in its own changes nothing for the program.  Only Linux has
 * such tables.
 */
#ifndef LP_FILE_TABLE_H
#define LP_FILE_TABLE_H

#include <stdbool.h>

/* Give this thread an empty table.  False if the system has no such tables. */
bool lp_file_table_begin_empty(void);

/* Give this thread a copy of the table of the process.  False as above. */
bool lp_file_table_begin_copy(void);

/* Call `act`; if it returns EMFILE, call it again in another thread with an
 * empty table, while this one waits.  `act` opens and closes files, and takes
 * no lock that this thread holds.  Returns what `act` returned. */
int lp_file_table_retry(int (*act)(void *context), void *context);

#endif
