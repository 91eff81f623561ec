/* The part of tm.h that is not inlined. */
#include "tm.h"

#include <stdint.h>

#include <common.h>
#include <main.h>
#include <signals.h>

bool tm_failed;
static _Thread_local const char* error_text;

/* Runs at the commit, while ownership is still held: the thread must not end here. */
static void store_error(void* what) { error_text = what; }

void tm_report_error(const char* what) { tm_at_commit(store_error, (void*)(uintptr_t)what); }

void tm_fail_after_error(const int* scope) {
    (void)scope;
    if (error_text != NULL && !tm_in_block()) failf(&ispec, "compressed data error: %s", error_text);
}

static void send(void* signal) { xraise((int)(intptr_t)signal); }

void tm_raise(int signal) { tm_at_commit(send, (void*)(intptr_t)signal); }
