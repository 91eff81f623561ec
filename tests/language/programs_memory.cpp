// Memory that is allocated and freed, that is thread-local, or that shares a word with a neighbour.
#include "programs.hpp"

#include <atomic>
#include <cstring>

extern std::atomic<long> objects;  // counting_heap.cpp

namespace language {

// clang-format off

namespace {

struct node { long value; node* next; };
node* list = nullptr;

}  // namespace

void allocation() {
    __transaction_atomic { list = nullptr; } // allocates the runtime's own memory
    const long before = objects;
    for (int i = 0; i != 1000; ++i) {
        __transaction_atomic {
            node* const n = new node{i, list};
            list = n;
            if (i % 2 == 1) __transaction_cancel;
        }
    }
    EXPECT(objects == before + 500);
    long sum = 0;
    __transaction_atomic {
        while (list != nullptr) {
            node* const n = list;
            sum += n->value;
            list = n->next;
            delete n;
        }
    }
    EXPECT(sum == 998 * 500 / 2);
}

/// A delete that is rolled back leaves nothing behind, not even the recorded size.
void cancelled_deletes() {
    static node* kept = new node{1, nullptr};
    __transaction_atomic { kept->value = 2; }
    const long before = objects;
    for (int i = 0; i != 100; ++i) {
        __transaction_atomic { delete kept; __transaction_cancel; }
    }
    EXPECT(objects == before);
}

namespace {

thread_local long private_to_thread = 0;
[[gnu::transaction_safe, gnu::noinline]] void write_through(long* where, long value) { *where = value; }

}  // namespace

/// The compiler reads thread-local memory directly, even if a callee wrote it through a barrier.
void thread_local_memory() {
    long seen = 0;
    __transaction_atomic {
        write_through(&private_to_thread, 5);
        seen = private_to_thread;
        private_to_thread = 6;
    }
    EXPECT(seen == 5 && private_to_thread == 6);
    __transaction_atomic {
        private_to_thread = 7;
        write_through(&private_to_thread, 8);
        private_to_thread = 9;
        __transaction_cancel;
    }
    EXPECT(private_to_thread == 6);
}

namespace {

struct flags { unsigned a : 8; unsigned char c; unsigned d : 9; unsigned e : 23; };
flags bits[4]{};

}  // namespace

namespace {

struct wide { long count; char between[80]; long twin; };
wide counted_wide{};
TUTTI_PURE void let_others_run() { std::this_thread::yield(); }
extern "C" {
TUTTI_PURE void* _ITM_memcpyRtWn(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memcpyRnWt(void*, const void*, std::size_t);
TUTTI_PURE void* _ITM_memmoveRnWt(void*, const void*, std::size_t);
}

}  // namespace

/// Values that are copied as a whole: a commit validates a copy's reads, and overlapping copies work as memmove does.
void copies() {
    run_threads(4, [](int) {
        for (int i = 0; i != 100; ++i) {
            __transaction_atomic {
                wide mine;
                _ITM_memcpyRtWn(&mine, &counted_wide, sizeof mine);
                let_others_run();
                if (mine.count == mine.twin) { ++mine.count; ++mine.twin; }
                _ITM_memcpyRnWt(&counted_wide, &mine, sizeof mine);
            }
        }
    });
    EXPECT(counted_wide.count == 400 && counted_wide.twin == 400);
    unsigned char expected[700];
    unsigned char bytes[700];
    for (std::size_t i = 0; i != sizeof bytes; ++i) bytes[i] = expected[i] = static_cast<unsigned char>(i * 7 / 3);
    std::memmove(expected + 9, expected + 2, 600);
    __transaction_atomic { _ITM_memmoveRnWt(bytes + 9, bytes + 2, 600); if (certainly == 0) __transaction_cancel; }
    EXPECT(std::memcmp(bytes, expected, sizeof bytes) == 0);
}

/// Neighbours in one word, including bit fields. (GCC 12 reads fields that share a byte without a barrier.)
void bit_fields() {
    run_threads(2, [](int me) {
        for (unsigned i = 0; i != 20000; ++i) {
            __transaction_atomic {
                if (me == 0) { bits[1].d = (bits[1].d + 1) & 511; }
                else { bits[1].c = static_cast<unsigned char>(bits[1].c + 1); bits[1].e = (bits[1].e + 1) & 0x7fffff; }
            }
        }
    });
    EXPECT(bits[1].c == (20000 & 255) && bits[1].d == (20000 & 511) && bits[1].e == 20000);
}

// clang-format on

}  // namespace language
