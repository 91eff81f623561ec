// Output that a transaction has moved out of a stream's buffer, because the output must not reach the file before the
// commit.
//
// The overlay replaces the file from the first such output to the end of the transaction. The overlay has its own
// position and size. Pages that the program writes are in memory; all other bytes are read from the file. The kernel's
// position in the file does not move meanwhile.
//
// Invariants
//   OVL1  each page in `pages_` holds the file's bytes at the time when the page was read, changed by `writes_` in
//         order
//   OVL2  `writes_` holds the undo data of each write: undo_to(n) restores bytes and size after the first n writes
//   OVL3  apply writes only ranges that the program has written, so bytes of other writers next to them do not change
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace tutti::libc {

class file_overlay {
public:
    /// Returns an overlay of the file of `fd`; the program is at `position`. If `appends`, the stream writes at the
    /// file's end. Returns null if the file is not regular, if only one of descriptor and stream appends, or if memory
    /// ran out.
    [[nodiscard]] static file_overlay* of(int fd, bool appends, off64_t position) noexcept;

    [[nodiscard]] bool stands_for(const struct stat& about) const noexcept {
        return about.st_dev == device_ && about.st_ino == inode_;
    }
    [[nodiscard]] off64_t position() const noexcept { return position_; }
    [[nodiscard]] off64_t size() const noexcept { return size_; }
    void seek(off64_t position) noexcept { position_ = position; }
    [[nodiscard]] std::size_t count_writes() const noexcept { return writes_.size(); }

    /// Reads like read(2). O(size + pages).
    [[nodiscard]] ssize_t read(char* to, std::size_t size) noexcept;
    /// Writes all bytes, or none on failure. Returns false if memory ran out, or if a page of the file could not be
    /// read. O(size + pages).
    [[nodiscard]] bool write(const char* from, std::size_t size) noexcept;
    /// Undoes all writes except the first `count`. Does not change the position.
    void undo_to(std::size_t count) noexcept;
    /// Writes the overlay to `fd`, the file's descriptor at the commit. Moves the kernel's position to the program's.
    /// Returns false and sets errno if a part could not be written.
    [[nodiscard]] bool apply(int fd) noexcept;

private:
    static constexpr std::size_t page_size = 4096;
    using page = std::array<char, page_size>;

    struct written {
        off64_t at;
        std::size_t size;
        std::unique_ptr<char[]> before;
        off64_t file_size;
    };

    file_overlay(int fd, bool appends, bool is_readable, const struct stat& about, off64_t position) noexcept
        : fd_{fd},
          appends_{appends},
          is_readable_{is_readable},
          device_{about.st_dev},
          inode_{about.st_ino},
          first_size_{about.st_size},
          position_{position},
          size_{about.st_size} {}

    /// Reads those pages of the `size` bytes at `at` that are not yet in memory. Returns false and sets errno if the
    /// file could not be read. May throw std::bad_alloc.
    [[nodiscard]] bool has(off64_t at, std::size_t size);
    /// Calls f(bytes of a page, count, offset from `at`) for each page. The first argument is null if the page is not
    /// in memory.
    template <class F>
    void for_each_part(off64_t at, std::size_t size, F f) noexcept;

    int fd_;
    bool appends_;
    bool is_readable_;
    dev_t device_;
    ino_t inode_;
    off64_t first_size_;
    off64_t position_;
    off64_t size_;
    std::map<off64_t, page> pages_;
    std::vector<written> writes_;
};

}  // namespace tutti::libc
