/* The macros that the semantic patches beside this file use: blocks, and threads to run them. */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* The body may call functions that are forbidden in atomic blocks, such as an error exit. The block then runs alone. */
#define ATOMICALLY() __transaction_relaxed

/* Runs an endless loop of blocks in each of four threads, which share the enclosing variables and begin together. */
#define LOOP_IN_THREADS() _Pragma("omp parallel num_threads(4)") for (begin_together();;) ATOMICALLY()

static inline void begin_together(void) {
    static unsigned waiting = 4;
    __atomic_sub_fetch(&waiting, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) != 0) sched_yield();
}

/* Reads the files of tinycdb's command line, each in a thread of its own. */
struct cdb_make;
static void dofile(struct cdb_make* to, FILE* from, const char* name, int flags);

struct file_of_cdb {
    struct cdb_make* to;
    FILE* from;
    const char* name;
    int flags;
    pthread_t thread;
};
static struct file_of_cdb files_of_cdb[16];
static unsigned count_of_files;

static inline void* read_file(void* of) {
    const struct file_of_cdb* const f = of;
    dofile(f->to, f->from, f->name, f->flags);
    fclose(f->from);
    return NULL;
}
static inline void begin_file(struct cdb_make* to, FILE* from, const char* name, int flags) {
    if (count_of_files == sizeof files_of_cdb / sizeof *files_of_cdb) abort();
    struct file_of_cdb* const f = &files_of_cdb[count_of_files++];
    *f = (struct file_of_cdb){.to = to, .from = from, .name = name, .flags = flags};
    if (pthread_create(&f->thread, NULL, read_file, f) != 0) abort();
}
static inline void end_files(void) {
    while (count_of_files != 0) pthread_join(files_of_cdb[--count_of_files].thread, NULL);
}
