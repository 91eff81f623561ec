// A folder for logs, on a disk that a test can break, and the notices of the servers that log there.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "server/durability/faulty_disk.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

class log_folder : public testing::Test {
protected:
    void SetUp() override {
        faulty_disk::install();
        faulty_disk::repair();
        std::string made = testing::TempDir() + "tutti-log-XXXXXX";
        ASSERT_NE(::mkdtemp(made.data()), nullptr);
        folder_ = made;
    }
    void TearDown() override {
        faulty_disk::repair();
        std::filesystem::remove_all(folder_);
    }

    [[nodiscard]] std::string file(const std::string& name = "log") const { return folder_ + "/" + name; }
    /// Removes all files of the log.
    void remove_log(const std::string& name = "log") const {
        for (const char* const suffix : {"", "-wal", "-end"}) std::filesystem::remove(file(name) + suffix);
    }
    /// Returns settings with a log in this folder. Its notices are recorded here.
    [[nodiscard]] settings logging_to(const std::string& name, log_sync sync) {
        settings how;
        how.log.file = file(name);
        how.log.sync = sync;
        how.log_callback = [this](severity, const std::string& line) {
            const std::scoped_lock lock{mutex_};
            notices_ += line + '\n';
        };
        return how;
    }
    /// Returns the reason why a server of these settings does not start.
    template <class Server>
    static std::string refusal_of(settings how) {
        try {
            Server one{std::move(how)};
        } catch (const std::exception& e) {
            return e.what();
        }
        return "it started";
    }
    [[nodiscard]] std::string notices() {
        const std::scoped_lock lock{mutex_};
        return notices_;
    }

    std::string folder_;

private:
    std::mutex mutex_;
    std::string notices_;
};

}  // namespace tutti::server
