// A shared object with a transactional clone, which programs.cpp loads and unloads.
extern "C" [[gnu::transaction_safe]] long plugin_add(long* to, long what) {
    *to += what;
    return *to;
}
