#include "server/net/stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::server {
namespace {

stream::result result_of(ssize_t moved) noexcept {
    if (moved > 0) return {stream::state::good, static_cast<std::size_t>(moved)};
    if (moved == 0) return {stream::state::ended};
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return {later ? stream::state::would_block : stream::state::broken};
}

}  // namespace

handle::~handle() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

stream::result stream::read(std::span<char> into) noexcept {
    return result_of(::recv(socket_.get(), into.data(), into.size(), 0));
}

stream::result stream::write(std::string_view bytes) noexcept {
    return result_of(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

bool stream::is_all_received() const noexcept {
    int unsent = 0, unread = 0;
    return ::ioctl(socket_.get(), SIOCOUTQ, &unsent) == 0 && ::ioctl(socket_.get(), FIONREAD, &unread) == 0 &&
           unsent == 0 && unread == 0;
}

void stream::finish() noexcept { ::shutdown(socket_.get(), SHUT_WR); }

}  // namespace tutti::server
