// Random stdio programs, compared with glibc. A program opens a stream of one of many kinds. It then runs blocks that
// commit, restart, or are cancelled in part or as a whole, with plain calls between them. A twin stream gets the plain
// and the committed calls from glibc alone. Answers, positions, indicators and contents must be equal.
//
// Unlike in streams_test.cpp, one block mixes input, output and seeks, with the seeks between them that C requires. A
// block that becomes irrevocable on the way commits, whatever its plan says. A failure prints its number.
// TUTTI_TEST_STREAM_PROGRAM=<number> runs that program alone, and shows the smallest program that still fails.
//
// Catches output of a cancelled block that a later seek of the same block has flushed. Catches a seek or input after
// output that makes a block irrevocable although the output can wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <sstream>
#include <string>

#include "steps.hpp"
#include "support/effort.hpp"

namespace {

using namespace streams;

constexpr const char* modes[] = {"r", "r+", "w", "w+", "a", "a+"};
constexpr std::size_t initial_size = 700;

enum class source : std::uint8_t { file, growing_memory, fixed_memory };

/// The way in which a stream is opened.
struct kind {
    source from = source::file;
    const char* mode = "r+";
    int buffering = _IOFBF;
    std::size_t room = 0;  ///< size of the program's own buffer; 0: glibc's buffer
};

struct block {
    std::vector<step> outside;  ///< plain calls before the block
    plan inside;
};

struct program {
    kind of;
    std::vector<block> blocks;
};

class stream {
public:
    explicit stream(const kind& k) : is_file_{k.from == source::file}, buffer_(k.room + 1), fixed_(900) {
        switch (k.from) {
            case source::file: open_file(k.mode); break;
            case source::growing_memory: f_ = ::open_memstream(&grown_, &grown_size_); break;
            case source::fixed_memory: f_ = ::fmemopen(fixed_.data(), fixed_.size(), k.mode); break;
        }
        if (is_file_ && k.buffering != _IOFBF) std::setvbuf(f_, nullptr, k.buffering, 0);
        else if (is_file_ && k.room != 0) std::setvbuf(f_, buffer_.data(), _IOFBF, k.room);
    }
    ~stream() {
        if (f_ != nullptr) std::fclose(f_);
        std::free(grown_);
        if (is_file_) std::remove(path_);
    }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    [[nodiscard]] FILE* get() const { return f_; }

    /// Closes the stream. Returns the data that it has written.
    std::string contents() {
        std::fclose(std::exchange(f_, nullptr));
        if (grown_ != nullptr) return {grown_, grown_size_};
        if (!is_file_) return {fixed_.data(), fixed_.size()};
        FILE* const again = std::fopen(path_, "r");
        std::string all(1 << 18, '\0');
        all.resize(std::fread(all.data(), 1, all.size(), again));
        std::fclose(again);
        return all;
    }

private:
    void open_file(const char* mode) {
        const int fd = ::mkstemp(path_);
        FILE* const first = ::fdopen(fd, "w");
        std::fwrite(text, 1, initial_size, first);
        std::fclose(first);
        f_ = std::fopen(path_, mode);
    }

    bool is_file_;
    char path_[40] = "/tmp/tutti-stream-XXXXXX";
    std::vector<char> buffer_, fixed_;
    char* grown_ = nullptr;
    std::size_t grown_size_ = 0;
    FILE* f_ = nullptr;
};

enum class direction : std::uint8_t { none, input, output, unknown };

direction direction_of(call what) {
    switch (what) {
        case call::fputc:
        case call::fputs:
        case call::fwrite:
        case call::fprintf: return direction::output;
        case call::fgetc:
        case call::fgets:
        case call::fread:
        case call::ungetc:
        case call::unread: return direction::input;
        default: return direction::none;
    }
}

class generator {
public:
    explicit generator(unsigned number) : random_{number} {}

    program next() {
        program p;
        constexpr source sources[] = {source::file, source::file,           source::file,
                                      source::file, source::growing_memory, source::fixed_memory};
        constexpr int bufferings[] = {_IOFBF, _IOFBF, _IOFBF, _IOFBF, _IOLBF, _IONBF};
        constexpr std::size_t rooms[] = {0, 0, 128, 300, 1024};
        p.of = {sources[below(6)], modes[below(6)], bufferings[below(6)], rooms[below(5)]};
        from_ = p.of.from;
        for (std::size_t n = 1 + below(5); n != 0; --n) {
            block b;
            add_steps(b.outside, 4);
            b.inside.is_cancelled = below(2) == 0;
            b.inside.nested_is_cancelled = below(3) == 0;
            b.inside.restarts = below(3) == 0 ? static_cast<int>(1 + below(3)) : 0;
            add_steps(b.inside.before, 6);
            add_steps(b.inside.nested, 4);
            if (b.inside.nested_is_cancelled) forget_direction();
            add_steps(b.inside.after, 4);
            if (b.inside.is_cancelled) forget_direction();
            p.blocks.push_back(b);
        }
        return p;
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    /// Puts a seek between input and output, as C requires.
    void add_steps(std::vector<step>& to, std::size_t most) {
        for (std::size_t n = below(most); n != 0; --n) {
            const step s = any();
            // glibc frees memory that it did not allocate if characters are put back into a memory stream.
            if (from_ == source::growing_memory && direction_of(s.what) == direction::input) continue;
            if (from_ == source::fixed_memory && s.what == call::unread) continue;
            const direction now = direction_of(s.what);
            if (now != direction::none && latest_ != direction::none && now != latest_)
                to.push_back({call::fseek, 0, SEEK_CUR});
            if (now != direction::none) latest_ = now;
            // C does not define a flush after input, and glibc then loses the position if a character was put back.
            if (s.what == call::fflush && has_put_back_) to.push_back({call::fseek, 0, SEEK_CUR});
            if (s.what == call::unread) has_put_back_ = true;
            to.push_back(s);
        }
    }
    /// After a part that may have been cancelled, the latest direction is unknown.
    void forget_direction() { latest_ = direction::unknown; }
    step any() {
        const auto small = static_cast<long>(below(40));
        constexpr int whences[] = {SEEK_SET, SEEK_SET, SEEK_CUR, SEEK_END};
        switch (below(20)) {
            case 0:
            case 1: return {call::fputc, 'A' + small % 26, 0};
            case 2: return {call::fputs, small, 0};
            case 3: return {call::fwrite, static_cast<long>(below(4) == 0 ? below(1200) : below(60)), 0};
            case 4: return {call::fprintf, small, 0};
            case 5:
            case 6: return {call::fgetc, 0, 0};
            case 7: return {call::fgets, 1 + small, 0};
            case 8: return {call::fread, static_cast<long>(below(200)), 0};
            case 9: return {call::ungetc, 0, 0};
            case 10: return {call::unread, 'A' + small % 26, 0};
            case 11: return {call::ftell, 0, 0};
            case 12: return {call::rewind, 0, 0};
            case 13: return {call::feof, 0, 0};
            case 14: return {call::clearerr, 0, 0};
            case 15: return below(3) == 0 ? step{call::fflush, 0, 0} : step{call::ferror, 0, 0};
            case 16: return {call::reposition, 0, 0};
            default: break;
        }
        const int whence = whences[below(4)];
        if (whence == SEEK_SET) return {call::fseek, static_cast<long>(below(800)), whence};
        return {call::fseek, static_cast<long>(below(120)) - 60, whence};
    }

    std::mt19937 random_;
    direction latest_ = direction::none;
    source from_ = source::file;
    bool has_put_back_ = false;
};

struct tally {
    int cancelled = 0;
    int committed = 0;
};

bool is_among(call what, std::initializer_list<call> these) {
    return std::find(these.begin(), these.end(), what) != these.end();
}

/// Returns true if every step of the program can be undone. The stream must be a fully buffered byte stream, without
/// flushes. It must not put back characters that were not read, and no block may fill the buffer with output.
bool can_be_undone(const program& p) {
    if (p.of.from != source::file || p.of.buffering != _IOFBF) return false;
    const std::size_t room = p.of.room != 0 ? p.of.room : 4096;
    for (const block& b : p.blocks) {
        std::size_t size = 0;
        for (const auto* const steps : {&b.outside, &b.inside.before, &b.inside.nested, &b.inside.after}) {
            for (const step& s : *steps) {
                if (is_among(s.what, {call::unread, call::fflush})) return false;
                if (steps == &b.outside || direction_of(s.what) != direction::output) continue;
                constexpr std::size_t of_a_format = 40;
                size += of_a_format + (s.what == call::fputc ? 0 : static_cast<std::size_t>(s.amount));
            }
        }
        if (size >= room) return false;
    }
    return true;
}

/// Runs the program with `run` for its blocks. Returns a description of the difference, or an empty string.
std::string difference(const program& p, void (*run)(FILE*, const plan&), tally& count) {
    stream tried{p.of}, twin{p.of};
    const bool is_undone = can_be_undone(p);
    int number = 0;
    for (const block& b : p.blocks) {
        const std::string where = "block " + std::to_string(number++) + ": ";
        answers.clear();
        run_plainly(tried.get(), b.outside);
        const std::vector<answer> outside = std::exchange(answers, {});
        run_plainly(twin.get(), b.outside);
        if (std::exchange(answers, {}) != outside) return where + "answers of plain calls before it";
        run(tried.get(), b.inside);
        const std::vector<answer> found = std::exchange(answers, {});
        const outcome how = ended;
        if (is_undone &&
            (how.was_cancelled != b.inside.is_cancelled || how.nested_was_cancelled != b.inside.nested_is_cancelled))
            return where + "it has become irrevocable";
        ++(how.was_cancelled ? count.cancelled : count.committed);
        if (!how.was_cancelled) {
            run_plainly(twin.get(), b.inside.before);
            if (how.nested_was_cancelled) {
                const auto begin = found.begin() + static_cast<long>(answers.size());
                answers.insert(answers.end(), begin, begin + static_cast<long>(b.inside.nested.size()));
            } else {
                run_plainly(twin.get(), b.inside.nested);
            }
            run_plainly(twin.get(), b.inside.after);
            if (answers != found) return where + "answers";
        }
        answers.clear();
        if (std::ftell(tried.get()) != std::ftell(twin.get())) return where + "the position after it";
        if (std::feof(tried.get()) != std::feof(twin.get())) return where + "feof after it";
        if (std::ferror(tried.get()) != std::ferror(twin.get())) return where + "ferror after it";
    }
    return tried.contents() == twin.contents() ? "" : "the contents";
}

std::vector<std::vector<step>*> lists_of(program& p) {
    std::vector<std::vector<step>*> all;
    for (block& b : p.blocks) all.insert(all.end(), {&b.outside, &b.inside.before, &b.inside.nested, &b.inside.after});
    return all;
}

/// Returns true if a seek separates input and output everywhere.
bool is_defined(program& p) {
    direction latest = direction::none;
    bool has_put_back = false;
    std::size_t list = 0;
    for (const auto* const steps : lists_of(p)) {
        for (const step& s : *steps) {
            if (s.what == call::fseek || s.what == call::rewind || s.what == call::reposition) {
                latest = direction::none;
                has_put_back = false;
            }
            if (s.what == call::fflush && has_put_back) return false;
            if (s.what == call::unread) has_put_back = true;
            const direction now = direction_of(s.what);
            if (now == direction::none) continue;
            if (latest != direction::none && now != latest) return false;
            latest = now;
        }
        const plan& of = p.blocks[list / 4].inside;
        if ((list % 4 == 2 && of.nested_is_cancelled) || (list % 4 == 3 && of.is_cancelled))
            latest = direction::unknown;
        ++list;
    }
    return true;
}

/// Removes blocks and steps as long as the program still fails.
program smallest(program p, void (*run)(FILE*, const plan&)) {
    tally ignored;
    for (bool is_smaller = true; is_smaller;) {
        is_smaller = false;
        const auto try_instead = [&](program candidate) {
            if (!is_defined(candidate) || difference(candidate, run, ignored).empty()) return false;
            p = std::move(candidate);
            return is_smaller = true;
        };
        for (std::size_t i = 0; i < p.blocks.size();) {
            program candidate = p;
            candidate.blocks.erase(candidate.blocks.begin() + static_cast<long>(i));
            if (!try_instead(candidate)) ++i;
        }
        for (std::size_t list = 0; list != 4 * p.blocks.size(); ++list) {
            for (std::size_t i = 0; i < lists_of(p)[list]->size();) {
                program candidate = p;
                auto& steps = *lists_of(candidate)[list];
                steps.erase(steps.begin() + static_cast<long>(i));
                if (!try_instead(candidate)) ++i;
            }
        }
    }
    return p;
}

std::string shown(program p) {
    constexpr const char* names[] = {"fputc",  "fputs",  "fwrite", "fprintf",    "fgetc", "fgets",
                                     "fread",  "ungetc", "unread", "reposition", "fseek", "ftell",
                                     "rewind", "feof",   "ferror", "clearerr",   "fflush"};
    constexpr const char* places[] = {"outside", "before", "nested", "after"};
    std::ostringstream to;
    to << "source " << static_cast<int>(p.of.from) << ", mode " << p.of.mode << ", buffering " << p.of.buffering
       << ", room " << p.of.room << '\n';
    std::size_t list = 0;
    for (const auto* const steps : lists_of(p)) {
        const plan& of = p.blocks[list / 4].inside;
        if (list % 4 == 0)
            to << "block, cancelled " << of.is_cancelled << ", nested cancelled " << of.nested_is_cancelled
               << ", restarts " << of.restarts << '\n';
        for (const step& s : *steps)
            to << "  " << places[list % 4] << ' ' << names[static_cast<int>(s.what)] << ' ' << s.amount << ' '
               << s.whence << '\n';
        ++list;
    }
    return to.str();
}

void run_programs(void (*run)(FILE*, const plan&)) {
    const char* const only = std::getenv("TUTTI_TEST_STREAM_PROGRAM");
    const unsigned first = only != nullptr ? static_cast<unsigned>(std::strtoul(only, nullptr, 10)) : 1;
    const unsigned count = only != nullptr ? 1 : static_cast<unsigned>(tutti::support::rounds(600));
    tally all;
    for (unsigned number = first; number != first + count; ++number) {
        const program p = generator{number}.next();
        const std::string what = difference(p, run, all);
        if (what.empty()) continue;
        const program least = smallest(p, run);
        tally ignored;
        FAIL() << "TUTTI_TEST_STREAM_PROGRAM=" << number << ": " << what << "; the smallest that fails, by "
               << difference(least, run, ignored) << ":\n"
               << shown(least);
    }
    // Most blocks can be undone; otherwise this test would cover little.
    if (only == nullptr) {
        EXPECT_GT(all.cancelled, all.committed / 10);
    }
}

TEST(stream_programs, match_glibc_in_library_blocks) { run_programs(run_in_library); }
#if defined(TUTTI_TESTS_LANGUAGE)
TEST(stream_programs, match_glibc_in_language_blocks) { run_programs(run_in_language); }
#endif

}  // namespace
