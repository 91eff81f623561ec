// Streams of the C library (paper 004, VI, figure 4): a block writes or reads a record by one or more calls. Each
// thread has its own stream, or all threads share one. The files are in memory, so no disk is measured. An engine
// determines how a record stays whole.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases.hpp"
#include "harness/worker_group.hpp"

namespace bench {

inline constexpr unsigned record_bytes = 32;
inline constexpr long records_in_file = 1 << 17;

/// A file of records, each of which ends with a newline.
class record_file {
public:
    record_file() : f_{::fdopen(::memfd_create("records", 0), "w+")} {
        char record[record_bytes];
        std::memset(record, 'r', sizeof record);
        record[record_bytes - 1] = '\n';
        for (long i = 0; i != records_in_file; ++i) std::fwrite(record, 1, sizeof record, f_);
        std::fseek(f_, 0, SEEK_SET);
    }
    ~record_file() { std::fclose(f_); }
    record_file(const record_file&) = delete;
    record_file& operator=(const record_file&) = delete;

    [[nodiscard]] FILE* stream() const noexcept { return f_; }
    [[nodiscard]] long bytes() const {
        std::fflush(f_);
        return static_cast<long>(::lseek(::fileno(f_), 0, SEEK_END));
    }

private:
    FILE* f_;
};

/// Whether all threads use one stream.
enum class stream_is : std::uint8_t { own, shared };

inline std::vector<record_file> files_for(const plan& how, stream_is which) {
    return std::vector<record_file>(which == stream_is::shared ? 1 : how.threads);
}
inline FILE* stream_of(const std::vector<record_file>& files, unsigned index) {
    return files[index % files.size()].stream();
}

/// Each operation writes a record by `write(f)`, after the existing ones.
template <class E, class Write>
outcome run_writers(const plan& how, stream_is which, Write write) {
    const std::vector<record_file> files = files_for(how, which);
    for (const record_file& file : files) std::fseek(file.stream(), 0, SEEK_END);
    outcome result = timed_round(how, [&files, write](unsigned index, const stop_flag& stop) {
        FILE* const f = stream_of(files, index);
        thread_result done;
        done.operations = repeat(stop, [f, write] { E::run(f, [f, write] { write(f); }); });
        return done;
    });
    long bytes = static_cast<long>(result.operations) * record_bytes;
    for (const record_file& file : files) bytes += records_in_file * record_bytes - file.bytes();
    if (bytes != 0) result.broken = "the files have another size";
    return result;
}

/// Each operation reads a record by `read(f)`, which returns the number of bytes. At the end of the file it goes back
/// to the start.
template <class E, class Read>
outcome run_readers(const plan& how, stream_is which, Read read) {
    const std::vector<record_file> files = files_for(how, which);
    outcome result = timed_round(how, [&files, read](unsigned index, const stop_flag& stop) {
        FILE* const f = stream_of(files, index);
        thread_result done;
        done.operations = repeat(stop, [f, read, &done] {
            unsigned bytes = 0;
            E::run(f, [f, read, &bytes] {
                bytes = read(f);
                if (bytes == 0) fseek(f, 0, SEEK_SET);
            });
            done.invariant_sum += bytes != record_bytes && bytes != 0;
        });
        return done;
    });
    if (result.invariant_sum != 0) result.broken = "records were torn: " + std::to_string(result.invariant_sum);
    return result;
}

inline constexpr char record_text[] = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr\n";

/// Adds the workload `name` on a stream for each thread, and on one shared stream.
template <class E, class Run>
void add_stream_case(std::string_view family, const std::string& name, Run run) {
    add_case<E>(family, name, [run](const plan& how) { return run(how, stream_is::own); });
    add_case<E>(family, name + "-shared", [run](const plan& how) { return run(how, stream_is::shared); });
}

template <class E>
void add_streams(std::string_view family) {
    add_stream_case<E>(family, "fputc", [](const plan& how, stream_is which) {
        return run_writers<E>(how, which, [](FILE* f) {
            for (unsigned i = 0; i != record_bytes; ++i) fputc(record_text[i], f);
        });
    });
    add_stream_case<E>(family, "fputs", [](const plan& how, stream_is which) {
        return run_writers<E>(how, which, [](FILE* f) { fputs(record_text, f); });
    });
    add_stream_case<E>(family, "fwrite", [](const plan& how, stream_is which) {
        return run_writers<E>(how, which, [](FILE* f) { fwrite(record_text, 1, record_bytes, f); });
    });
    add_stream_case<E>(family, "fgetc", [](const plan& how, stream_is which) {
        return run_readers<E>(how, which, [](FILE* f) {
            unsigned n = 0;
            while (n != record_bytes && fgetc(f) != EOF) ++n;
            return n;
        });
    });
    add_stream_case<E>(family, "fgets", [](const plan& how, stream_is which) {
        return run_readers<E>(how, which, [](FILE* f) {
            char record[record_bytes + 1];
            return fgets(record, sizeof record, f) != nullptr ? record_bytes : 0U;
        });
    });
    add_stream_case<E>(family, "fread", [](const plan& how, stream_is which) {
        return run_readers<E>(how, which, [](FILE* f) {
            char record[record_bytes];
            return static_cast<unsigned>(fread(record, 1, sizeof record, f));
        });
    });
    add_stream_case<E>(family, "fseek", [](const plan& how, stream_is which) {
        return run_readers<E>(how, which, [](FILE* f) {
            char record[record_bytes];
            const long at = ftell(f);
            const long next = (at + 17 * record_bytes) % (records_in_file * record_bytes);
            fseek(f, next, SEEK_SET);
            return static_cast<unsigned>(fread(record, 1, sizeof record, f));
        });
    });
}

}  // namespace bench
