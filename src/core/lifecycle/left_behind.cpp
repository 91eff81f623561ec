#include "core/lifecycle/left_behind.hpp"

#include <pthread.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/last_words.hpp"
#include "base/panic.hpp"
#include "observe/site.hpp"

namespace tutti::core {
namespace {

using text = std::array<char, 320>;

/// What the calling thread has asked pthread_setcanceltype for.
struct cancel_type_requests {
    bool anywhere;  ///< the latest request was for asynchronous cancellation
    bool seen;      ///< there was a request since this was cleared
};
constinit thread_local cancel_type_requests requests{};

bool is_of_language(const detail::frame& f) noexcept {
    const language_blocks* const language = blocks_of_language.load(std::memory_order_acquire);
    return language != nullptr && f.receive == language->receive;
}

/// Reads no frame of the library, which may have been overwritten.
text name_of_block(const descriptor& d, const detail::frame* language_frame, bool in_language) noexcept {
    text name{};
    if (in_language) {
        blocks_of_language.load(std::memory_order_acquire)->name(d, language_frame, name.data(), name.size());
    } else if (d.run.where.slot != nullptr) {
        std::snprintf(name.data(), name.size(), "%s:%u", observe::file_of(d.run.where), observe::line_of(d.run.where));
    }
    return name;
}

/// Whether both are on the stack of the calling thread. Not so where contexts have stacks of their own.
bool are_on_this_stack(std::uintptr_t a, std::uintptr_t b) noexcept {
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
    void* begin = nullptr;
    std::size_t size = 0;
    const bool known = ::pthread_attr_getstack(&attributes, &begin, &size) == 0;
    ::pthread_attr_destroy(&attributes);
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return known && a - from < size && b - from < size;
}

[[noreturn]] void refuse(const descriptor& d, const detail::frame* language_frame) noexcept {
    const text name = name_of_block(d, language_frame, language_frame != nullptr);
    std::array<char, 640> message{};
    std::snprintf(message.data(), message.size(),
                  "the block at %s was left by a jump (longjmp), so it neither commits nor is rolled back; leave a "
                  "block by its end, an exception, or a cancel",
                  name.data());
    base::panic(message.data());
}

}  // namespace

void refuse_left_behind(const descriptor& d) noexcept { refuse(d, is_of_language(*d.frame_) ? d.frame_ : nullptr); }

void refuse_if_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    const bool in_language = is_of_language(*d.frame_);
    const std::uintptr_t frame = in_language ? d.frame_->stack : reinterpret_cast<std::uintptr_t>(d.frame_);
    if (frame < stack && are_on_this_stack(frame, stack)) refuse(d, in_language ? d.frame_ : nullptr);
}

void refuse_jump_out(const descriptor& d, std::uintptr_t stack, std::uintptr_t resume) noexcept {
    if (!d.running() || d.pending != signal::none) return;
    const detail::frame& f = *d.frame_;
    const bool in_language = is_of_language(f);
    if (stack < f.stack || !are_on_this_stack(f.stack, stack)) return;
    // In the function with the block itself: a function that calls setjmp is not inlined, so the body of a block of the
    // library has a frame of its own. A block of the language is part of the function, and its begin comes first.
    if (in_language && stack == f.stack) {
        if (resume > blocks_of_language.load(std::memory_order_acquire)->resume(f)) return;
    }
    refuse(d, in_language ? &f : nullptr);
}

void note_cancel_type(int type) noexcept { requests = {type == PTHREAD_CANCEL_ASYNCHRONOUS, true}; }

bool ends_cancellable_anywhere() noexcept {
    const bool asked = requests.anywhere;
    requests.seen = false;
    int type = PTHREAD_CANCEL_DEFERRED;
    const int error = ::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    if (error != 0 || type != PTHREAD_CANCEL_ASYNCHRONOUS) return false;
    // This call was seen only if calls of the program's are. Others are not: the library is static, or a plug-in
    // brought it. Then the C library's answer counts, which may be that of a system call with deferred cancellation.
    return asked || !requests.seen;
}

void refuse_asynchronous_cancel(const descriptor& d) noexcept {
    const detail::frame* const open = d.frame_;
    // After the block, d still knows the site of the library's latest one, and src/itm that of the language's.
    const bool in_language = open != nullptr ? is_of_language(*open) : d.language != nullptr;
    const text name = name_of_block(d, open, in_language);
    std::array<char, 640> message{};
    std::snprintf(
        message.data(), message.size(),
        "tutti: a thread ended by asynchronous cancellation in, or next to, the block at %s, which may be half "
        "begun or half ended; call pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED) before atomic blocks\n",
        name[0] != '\0' ? name.data() : "an unknown place");
    // Not by stdio, whose write waits for ever in a thread that cancels itself.
    base::say_last_words(message.data());
    std::abort();
}

}  // namespace tutti::core
