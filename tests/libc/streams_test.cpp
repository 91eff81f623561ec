// Streams in transactions, compared with glibc: random calls on a file with a small buffer, in blocks that commit,
// restart, or are cancelled in part or as a whole. A second stream gets only the committed calls. After each block, its
// position, indicators and answers must be equal; at the end, also its contents.
//
// Catches a roll-back that forgets the position in the kernel, that drops bytes of earlier transactions, or that keeps
// its own bytes. Catches a flush that writes output that may be rolled back.
#include <unistd.h>

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "steps.hpp"
#include "support/effort.hpp"

namespace {

using namespace streams;

struct stream {
    explicit stream(std::size_t room) : buffer(room), f{std::tmpfile()} {
        std::setvbuf(f, buffer.data(), _IOFBF, room);
        std::fwrite(text, 1, 3000, f);
        std::rewind(f);
    }
    ~stream() { std::fclose(f); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    std::string contents() const {
        std::fflush(f);
        std::string all(1 << 20, '\0');
        all.resize(static_cast<std::size_t>(::pread(::fileno(f), all.data(), all.size(), 0)));
        return all;
    }

    std::vector<char> buffer;
    FILE* f;
};

enum class direction : std::uint8_t { none, input, output };

class generator {
public:
    generator(unsigned seed, std::size_t room) : random_{seed}, room_{room} {}

    plan next() {
        plan p;
        p.is_cancelled = chance(4);
        p.nested_is_cancelled = chance(4);
        p.restarts = chance(4) ? static_cast<int>(chance(8) ? 100 : below(4)) : 0;
        // Output that may be rolled back must not need a flush of its own.
        left_ = p.is_cancelled || p.nested_is_cancelled || p.restarts != 0 ? room_ - 1 : 100'000;
        const direction now = chance(2) ? direction::input : direction::output;
        if (last_ != now) p.before.push_back({call::fseek, 0, SEEK_CUR});
        for (auto* const steps : {&p.before, &p.nested, &p.after}) {
            for (std::size_t n = below(6); n != 0; --n) steps->push_back(now == direction::input ? input() : output());
        }
        if (!p.is_cancelled) last_ = now;
        return p;
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    bool chance(std::size_t one_in) { return below(one_in) == 0; }

    step output() {
        const std::size_t kind = below(6);
        std::size_t size = std::min(below(chance(5) ? 2 * room_ : 60), std::size_t{8000});
        if (size + 40 > left_) return {call::ftell, 0, 0};
        left_ -= size + 40;
        const auto amount = static_cast<long>(size);
        if (kind == 0) return {call::fputc, 'A' + amount % 26, 0};
        if (kind == 1) return {call::fputs, amount, 0};
        if (kind == 2) return {call::fprintf, amount, 0};
        if (kind == 3) return {call::ferror, 0, 0};
        return {call::fwrite, amount, 0};
    }
    step input() {
        constexpr call without_argument[] = {call::fgetc,  call::ungetc,   call::ftell, call::feof,
                                             call::ferror, call::clearerr, call::fgetc};
        const std::size_t kind = below(14);
        if (kind < std::size(without_argument)) return {without_argument[kind], 0, 0};
        if (kind == 7) return {call::fgets, static_cast<long>(1 + below(200)), 0};
        if (kind == 8) return {call::rewind, 0, 0};
        if (kind == 9) return {call::fseek, static_cast<long>(below(3500)), SEEK_SET};
        if (kind == 10) return {call::fseek, -static_cast<long>(below(300)), SEEK_END};
        if (kind == 11) return {call::fseek, static_cast<long>(below(500)) - 250, SEEK_CUR};
        if (kind == 12) return {call::fread, static_cast<long>(below(room_ / 4)), 0};
        return {call::fread, static_cast<long>(below(2 * room_)), 0};
    }

    std::mt19937 random_;
    std::size_t room_;
    std::size_t left_ = 0;
    direction last_ = direction::none;
};

void compare(unsigned seed, std::size_t room, void (*run)(FILE*, const plan&)) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", room " + std::to_string(room));
    const stream tried{room}, model{room};
    generator g{seed, room};
    for (int block = 0; block != 40; ++block) {
        const plan p = g.next();
        run(tried.f, p);
        ASSERT_EQ(ended.was_cancelled, p.is_cancelled) << "block " << block;
        ASSERT_EQ(ended.nested_was_cancelled, p.nested_is_cancelled) << "block " << block;
        const std::vector<answer> found = std::exchange(answers, {});
        if (!p.is_cancelled) {
            run_plainly(model.f, p.before);
            const std::size_t before = answers.size();
            if (!p.nested_is_cancelled) run_plainly(model.f, p.nested);
            else
                answers.insert(answers.end(), found.begin() + static_cast<long>(before),
                               found.begin() + static_cast<long>(before + p.nested.size()));
            run_plainly(model.f, p.after);
            ASSERT_EQ(found.size(), answers.size());
            for (std::size_t i = 0; i != found.size(); ++i) {
                ASSERT_EQ(found[i].result, answers[i].result) << "block " << block << ", step " << i;
                ASSERT_EQ(found[i].digest, answers[i].digest) << "block " << block << ", step " << i;
            }
        }
        answers.clear();
        ASSERT_EQ(std::ftell(tried.f), std::ftell(model.f)) << "block " << block;
        ASSERT_EQ(std::feof(tried.f), std::feof(model.f)) << "block " << block;
        ASSERT_EQ(std::ferror(tried.f), std::ferror(model.f)) << "block " << block;
    }
    ASSERT_EQ(tried.contents(), model.contents());
}

void compare_all(void (*run)(FILE*, const plan&)) {
    unsigned seed = 1;
    for (std::size_t i = tutti::support::rounds(120); i != 0; --i, ++seed) {
        for (const std::size_t room : {128U, 300U, 1024U, 4096U}) {
            compare(seed, room, run);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(streams, match_glibc_in_library_blocks) { compare_all(run_in_library); }
#if defined(TUTTI_TESTS_LANGUAGE)
TEST(streams, match_glibc_in_language_blocks) { compare_all(run_in_language); }
#endif

}  // namespace
