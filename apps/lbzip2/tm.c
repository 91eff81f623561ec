/* The part of tm.h that is not inlined. */
#include "tm.h"

#include <stdint.h>

#include <common.h>
#include <main.h>
#include <signals.h>

bool tm_failed;
static _Thread_local const char* told;

/* Runs at the commit, while ownership is still held: the thread must not end here. */
static void tell(void* what) { told = what; }

void tm_tell(const char* what) { tm_at_commit(tell, (void*)(uintptr_t)what); }

void tm_fail_if_told(const int* scope) {
    (void)scope;
    if (told != NULL && !tm_in_block()) failf(&ispec, "compressed data error: %s", told);
}

static void send(void* signal) { xraise((int)(intptr_t)signal); }

void tm_raise(int signal) { tm_at_commit(send, (void*)(intptr_t)signal); }
