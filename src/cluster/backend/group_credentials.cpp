#include "cluster/backend/group_credentials.hpp"

#include <sys/stat.h>

#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "wire/refusal.hpp"

namespace tutti::cluster::backend::group {

std::string certificate_name(speaker who, const std::string& group_name) {
    return (who == speaker::member ? "member." : "program.") + group_name;
}

credentials::credentials(tls_settings how, speaker own)
    : how_{std::move(how)}, own_{own}, seen_{look()}, now_{read()} {}

std::shared_ptr<credentials> credentials::of(const tls_settings& how, speaker own) {
    return how.files.wanted() ? std::make_shared<credentials>(how, own) : nullptr;
}

credentials::stamps credentials::look() const {
    stamps all;
    std::size_t i = 0;
    for (const std::string* const file : {&how_.files.certificate, &how_.files.key, &how_.files.authority}) {
        struct stat is{};
        if (::stat(file->c_str(), &is) == 0) {
            all[i] = {is.st_ino, static_cast<std::uint64_t>(is.st_size), is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
        }
        ++i;
    }
    return all;
}

std::shared_ptr<const wire::tls> credentials::read() const try {
    std::vector own{name_of(own_)};
    if (own_ == speaker::program) own.push_back(name_of(speaker::member));  // C2
    return std::make_shared<const wire::tls>(how_.files, own);
} catch (const wire::refusal& r) {
    throw refusal{r.what()};
}

std::shared_ptr<const wire::tls> credentials::current() {
    const std::lock_guard hold{guard_};
    // Looked at before they are read: what changes meanwhile is read again.
    if (const stamps are = look(); are != seen_) {
        seen_ = are;
        try {
            now_ = read();
            trouble_.clear();
        } catch (const refusal& r) {
            trouble_ = r.what();
        }
    }
    return now_;
}

std::unique_ptr<wire::tls_session> credentials::call() { return current()->call(name_of(speaker::member)); }

std::unique_ptr<wire::tls_session> credentials::answer() { return current()->answer(); }

std::string credentials::objection(const wire::tls_session& s, speaker who) const {
    const std::string member = name_of(speaker::member), program = name_of(speaker::program);
    if (s.is(member) || (who == speaker::program && s.is(program))) return {};
    return "shows a certificate that is made for " + s.names() + ", and a " +
           (who == speaker::member ? "member's must be made for " + member : "program's must be made for " + program) +
           ": have one made";
}

std::string credentials::trouble() const {
    const std::lock_guard hold{guard_};
    return trouble_;
}

}  // namespace tutti::cluster::backend::group
