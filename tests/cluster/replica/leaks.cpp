// C-Raft 0.15 leaks 16 bytes if it is closed while a snapshot of another member is being written.
#if defined(TUTTI_SANITIZED)
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
    return "leak:libraft.so";
}
#endif
