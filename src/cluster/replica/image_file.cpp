#include "cluster/replica/image_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "cluster/replica/checksummed.hpp"

namespace tutti::cluster::replica {

/// One image. While a thread of the pool works on an image, that thread shares its ownership, and no other thread uses
/// the image.
struct image_file::impl {
    ~impl() {
        if (mapped != MAP_FAILED) ::munmap(mapped, bytes);
        if (file >= 0) ::close(file);
    }
    int open(const std::string& folder) {
        file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (file >= 0) return 0;
        // The file system does not support unnamed files.
        const std::string name = folder + "/image";
        file = ::open(name.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
        return file >= 0 && ::unlink(name.c_str()) == 0 ? 0 : errno;
    }
    int write(std::string_view all) {
        while (!all.empty()) {
            const ::ssize_t some = ::write(file, all.data(), all.size());
            if (some < 0 && errno == EINTR) continue;
            if (some < 0) return errno;
            bytes += static_cast<std::size_t>(some);
            all.remove_prefix(static_cast<std::size_t>(some));
        }
        return 0;
    }
    /// Starts to write the latest piece to the disk, and waits until the disk has the previous piece.
    int pace() {
        if (bytes - begun < max_unwritten_bytes / 2) return 0;
        const auto range = [this](std::size_t from, std::size_t to, unsigned how) {
            const int bad =
                ::sync_file_range(file, static_cast<::off64_t>(from), static_cast<::off64_t>(to - from), how);
            return bad == 0 || errno == ENOSYS || errno == EINVAL ? 0 : errno;
        };
        if (const int bad = range(begun, bytes, SYNC_FILE_RANGE_WRITE); bad != 0) return bad;
        constexpr unsigned wait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
        if (const int bad = range(written, begun, wait); bad != 0) return bad;
        written = std::exchange(begun, bytes);
        return 0;
    }

    int file = -1;
    std::size_t bytes = 0, begun = 0, written = 0;
    std::uint64_t sum = empty_checksum;
    void* mapped = MAP_FAILED;
    bool dropped = false;  // used by the loop
};

void image_file::put(std::string piece, bool last, stored done) {
    struct putting {
        uv_work_t request{};
        image_file* of = nullptr;
        std::shared_ptr<impl> to;
        std::string piece, folder;
        bool last = false;
        stored done;
        int error = 0;
        void work() {
            if (to->file < 0) error = to->open(folder);
            to->sum = checksum(piece, to->sum);
            if (last) wire::writer{piece}(to->sum);
            if (error == 0) error = to->write(piece);
            if (error == 0) error = to->pace();
        }
    };
    if (!impl_) impl_ = std::make_shared<impl>();
    auto w = std::make_unique<putting>();
    w->of = this;
    w->to = impl_;
    w->piece = std::move(piece);
    w->folder = folder_;
    w->last = last;
    w->done = std::move(done);
    w->request.data = w.get();
    const int failed = ::uv_queue_work(
        &loop_, &w->request, [](uv_work_t* r) { static_cast<putting*>(r->data)->work(); },
        [](uv_work_t* r, int status) {
            const std::unique_ptr<putting> over{static_cast<putting*>(r->data)};
            if (over->to->dropped) return;  // the store may have been destroyed meanwhile
            if (status != 0) return over->done(RAFT_CANCELED);
            if (over->error != 0) over->of->error_ = std::generic_category().message(over->error);
            over->done(over->error == 0 ? 0 : over->error == ENOSPC ? RAFT_NOSPACE : RAFT_IOERR);
        });
    if (failed != 0) return w->done(RAFT_NOMEM);
    static_cast<void>(w.release());
}

raft_buffer image_file::complete_image() {
    impl& b = *impl_;
    b.mapped = ::mmap(nullptr, b.bytes, PROT_READ, MAP_PRIVATE, b.file, 0);
    if (b.mapped == MAP_FAILED) return {nullptr, 0};
    return {b.mapped, b.bytes};
}

/// Drops the image. Freeing a large file takes long, so a thread of the pool frees it, and not the loop's thread.
void image_file::drop() noexcept {
    struct dropping {
        uv_work_t request{};
        std::shared_ptr<impl> gone;
    };
    if (!impl_) return;
    impl_->dropped = true;
    auto* const w = new (std::nothrow) dropping{{}, std::move(impl_)};
    impl_.reset();
    if (w == nullptr) return;
    w->request.data = w;
    const auto over = [](uv_work_t* r, int) { delete static_cast<dropping*>(r->data); };
    if (::uv_queue_work(
            &loop_, &w->request, [](uv_work_t* r) { static_cast<dropping*>(r->data)->gone.reset(); }, over) != 0)
        delete w;
}

}  // namespace tutti::cluster::replica
