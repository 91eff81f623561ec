// Random trees of nested blocks, compared with a model that copies memory at every begin.
//
// Each block writes, reads, copies, fills and logs with barriers of every type and hint at every alignment. It may be
// cancelled, or cancel all blocks around it; the whole tree starts over some times. Afterwards memory, and all values
// read, must agree with the model. Threads own neighbouring bytes of the same words, and one of the threads writes
// without barriers.
//
// Broken runtimes that fail: one whose undo log trusts the hints RfW and WaW; one whose nested cancel restores the
// value from before the outer write. Others are one whose outer cancel leaves only the innermost block, one that writes
// or restores whole words, and one that stops at a record's end.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "barriers.hpp"

namespace {

using namespace language;

constexpr std::size_t span = 205;  // bytes of one thread: neither a multiple of a word nor of a stripe
constexpr int max_threads = 4;
constexpr int max_depth = 4;
constexpr int actions_per_block = 6;
constexpr unsigned cancel_outermost = 1 | 16;

alignas(64) unsigned char arena[span * max_threads];

struct random_numbers {
    std::uint64_t state;
    std::uint32_t below(std::uint32_t bound) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state >> 33) % bound;
    }
};

enum class kind : std::uint8_t { write, read, copy, move, take, give, fill, log, nested, leave };

struct action {
    kind what;
    const barrier* with;
    std::uint16_t at;
    std::uint16_t from;
    std::uint16_t size;
    int block;
    std::uint64_t noise;
};

struct block {
    action actions[actions_per_block];
    bool cancelled;
};

/// Returns byte i of the value that an action writes.
unsigned char byte_of(const action& a, std::size_t i) {
    return static_cast<unsigned char>((a.noise * 0x9E3779B97F4A7C15U) >> (i % 7 * 8)) ^ static_cast<unsigned char>(i);
}

struct script {
    std::vector<block> blocks;
    int restarts = 0;
    int restarts_left = 0;
    unsigned char* memory = nullptr;
    std::vector<unsigned char> seen;      // values that reads found, by block and action
    std::vector<unsigned char> expected;  // the expected values
    std::vector<bool> unknown;            // bytes of memory that are padding
    std::vector<bool> not_compared;       // bytes of `seen` that are padding

    static constexpr std::size_t slot = 64;
    std::size_t slot_of(int b, int a) const { return (static_cast<std::size_t>(b) * actions_per_block + a) * slot; }
};

int make_block(script& s, random_numbers& r, int depth) {
    const int number = static_cast<int>(s.blocks.size());
    s.blocks.emplace_back();
    block made{};
    made.cancelled = r.below(3) == 0;
    for (action& a : made.actions) {
        a = {static_cast<kind>(r.below(10)), &barriers[r.below(barrier_count)], 0, 0, 0, -1, r.state};
        if (a.what == kind::nested && depth == max_depth) a.what = kind::write;
        if (a.what == kind::nested) a.block = make_block(s, r, depth + 1);
        if (a.what == kind::leave && r.below(3) != 0) a.what = kind::write;
        const bool typed = a.what == kind::write || a.what == kind::read || a.what == kind::log;
        a.size = static_cast<std::uint16_t>(typed ? a.with->size : 1 + r.below(script::slot - 1));
        a.at = static_cast<std::uint16_t>(r.below(span - a.size));
        a.from = static_cast<std::uint16_t>(r.below(span - a.size));
        if (a.what == kind::copy && (a.at < a.from + a.size && a.from < a.at + a.size)) a.what = kind::move;
    }
    s.blocks[static_cast<std::size_t>(number)] = made;
    return number;
}

// ---- the program ----------------------------------------------------------------------------------------------

TUTTI_PURE [[gnu::noinline]] void run_action(script* s, int b, int number) {
    const action& a = s->blocks[static_cast<std::size_t>(b)].actions[number];
    unsigned char* const at = s->memory + a.at;
    unsigned char* const seen = s->seen.data() + s->slot_of(b, number);
    alignas(32) unsigned char raw[script::slot];
    for (std::size_t i = 0; i != sizeof raw; ++i) raw[i] = byte_of(a, i);
    switch (a.what) {
        case kind::write: a.with->write(at, raw); break;
        case kind::read: a.with->read(at, seen); break;
        case kind::copy: _ITM_memcpyRtWt(at, s->memory + a.from, a.size); break;
        case kind::move:
            if (a.noise % 2 == 0) _ITM_memmoveRtWt(at, s->memory + a.from, a.size);
            else _ITM_memmoveRtaRWtaW(at, s->memory + a.from, a.size);
            break;
        case kind::take: _ITM_memcpyRtWn(seen, at, a.size); break;
        case kind::give: _ITM_memcpyRnWt(at, raw, a.size); break;
        case kind::fill: _ITM_memsetW(at, raw[0], a.size); break;
        case kind::log:
            if (a.noise % 2 == 0) a.with->log(at);
            else _ITM_LB(at, a.size);
            std::memcpy(at, raw, a.size);
            break;
        case kind::leave: _ITM_abortTransaction(cancel_outermost);
        case kind::nested: break;
    }
}

TUTTI_PURE [[gnu::noinline]] int inner_block(script* s, int b, int number) {
    const action& a = s->blocks[static_cast<std::size_t>(b)].actions[number];
    return a.what == kind::nested ? a.block : -1;
}
TUTTI_PURE [[gnu::noinline]] bool is_cancelled(script* s, int b) {
    return s->blocks[static_cast<std::size_t>(b)].cancelled;
}
TUTTI_PURE [[gnu::noinline]] void maybe_restart(script* s) {
    if (s->restarts_left == 0) return;
    --s->restarts_left;
    _ITM_abortTransaction(4);
}

[[gnu::transaction_safe]] void run_block(script* s, int b);

[[gnu::transaction_safe]] void run_body(script* s, int b) {
    for (int i = 0; i != actions_per_block; ++i) {
        const int inner = inner_block(s, b, i);
        if (inner >= 0) run_block(s, inner);
        else run_action(s, b, i);
    }
    maybe_restart(s);
}

// clang-format off
[[gnu::transaction_safe]] void run_block(script* s, int b) {
    __transaction_atomic {
        run_body(s, b);
        if (is_cancelled(s, b)) __transaction_cancel;
    }
}
// clang-format on

// ---- the model ------------------------------------------------------------------------------------------------

struct state {
    std::vector<unsigned char> memory;
    std::vector<bool> unknown;
};

void copy_known(state& m, std::size_t to, const state& before, std::size_t from, std::size_t size) {
    for (std::size_t i = 0; i != size; ++i) {
        m.memory[to + i] = before.memory[from + i];
        m.unknown[to + i] = before.unknown[from + i];
    }
}

/// Runs a block in the model. Returns false if all blocks end without effect.
bool model_block(script& s, state& m, int b) {
    const state at_begin = m;
    for (int number = 0; number != actions_per_block; ++number) {
        const action a = s.blocks[static_cast<std::size_t>(b)].actions[number];
        const std::size_t slot = s.slot_of(b, number);
        const bool padded = a.what == kind::write || a.what == kind::read;
        const auto is_padding = [&](std::size_t i) { return padded && i % a.with->unit >= a.with->known; };
        switch (a.what) {
            case kind::write:
            case kind::give:
            case kind::log:
                for (std::size_t i = 0; i != a.size; ++i) {
                    m.memory[a.at + i] = byte_of(a, i);
                    m.unknown[a.at + i] = is_padding(i);
                }
                break;
            case kind::fill:
                for (std::size_t i = 0; i != a.size; ++i) {
                    m.memory[a.at + i] = byte_of(a, 0);
                    m.unknown[a.at + i] = false;
                }
                break;
            case kind::read:
            case kind::take:
                for (std::size_t i = 0; i != a.size; ++i) {
                    s.expected[slot + i] = m.memory[a.at + i];
                    s.not_compared[slot + i] = m.unknown[a.at + i] || is_padding(i);
                }
                break;
            case kind::copy:
            case kind::move: copy_known(m, a.at, state{m}, a.from, a.size); break;
            case kind::nested:
                if (!model_block(s, m, a.block)) return false;
                break;
            case kind::leave: return false;
        }
    }
    if (s.blocks[static_cast<std::size_t>(b)].cancelled) m = at_begin;
    return true;
}

// ---- ----------------------------------------------------------------------------------------------------------

/// Returns true if the program agrees with the model.
bool check(unsigned char* memory, std::uint64_t seed, int restarts) {
    script s;
    random_numbers r{seed};
    make_block(s, r, 1);
    s.memory = memory;
    s.restarts_left = restarts;
    const std::size_t slots = s.blocks.size() * actions_per_block * script::slot;
    s.seen.assign(slots, 0);
    s.expected.assign(slots, 0);
    s.not_compared.assign(slots, false);
    for (std::size_t i = 0; i != span; ++i) memory[i] = static_cast<unsigned char>(r.below(256));
    state m{{memory, memory + span}, std::vector<bool>(span, false)};

    const state before = m;
    run_block(&s, 0);
    if (!model_block(s, m, 0)) m = before;

    for (std::size_t i = 0; i != span; ++i) {
        if (m.unknown[i] || memory[i] == m.memory[i]) continue;
        std::fprintf(stderr, "seed %llu: byte %zu is %u, expected %u\n", static_cast<unsigned long long>(seed), i,
                     memory[i], m.memory[i]);
        return false;
    }
    for (std::size_t i = 0; i != slots; ++i) {
        if (s.not_compared[i] || s.seen[i] == s.expected[i]) continue;
        const block& b = s.blocks[i / script::slot / actions_per_block];
        const action& a = b.actions[i / script::slot % actions_per_block];
        std::fprintf(stderr, "seed %llu: a read (%s, at %u) found %u in byte %zu, expected %u\n",
                     static_cast<unsigned long long>(seed), a.with->type, a.at, s.seen[i], i % script::slot,
                     s.expected[i]);
        return false;
    }
    return true;
}

bool check_seeds(int thread, int seeds, int restarts) {
    for (int i = 0; i != seeds; ++i) {
        if (!check(arena + thread * span, static_cast<std::uint64_t>(i * max_threads + thread) + 1, restarts))
            return false;
    }
    return true;
}

}  // namespace

// model <threads> <seeds> <restarts>
int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const int threads = std::atoi(argv[1]);
    const int seeds = std::atoi(argv[2]);
    const int restarts = std::atoi(argv[3]);
    if (std::strncmp(_ITM_libraryVersion(), "Tutti", 5) != 0 && std::getenv("TUTTI_ANY_RUNTIME") == nullptr) {
        std::fprintf(stderr, "this runs on %s\n", _ITM_libraryVersion());
        return 2;
    }
    if (threads == 1) return check_seeds(0, seeds, restarts) ? 0 : 1;
    bool good[max_threads]{};
    std::vector<std::thread> crew;
    for (int t = 0; t != threads; ++t) {
        crew.emplace_back([=, &good] { good[t] = check_seeds(t, seeds, restarts); });
    }
    for (std::thread& t : crew) t.join();
    for (int t = 0; t != threads; ++t) {
        if (!good[t]) return 1;
    }
    return 0;
}
