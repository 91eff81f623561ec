// A shared object with a transactional clone, loaded and unloaded by programs.cpp.
extern "C" [[gnu::transaction_safe]] long plugin_add(long* to, long what) {
    *to += what;
    return *to;
}
