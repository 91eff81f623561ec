#include "server/stress/server_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace tutti::stress {

server_process::server_process(const std::string& tutti, const std::string& procedures,
                               const std::vector<std::string>& options) {
    const auto file = std::filesystem::temp_directory_path() / ("tutti-stress-" + std::to_string(::getpid()));
    std::vector<std::string> words{tutti, "serve", procedures, "--quiet", "--port", "0", "--port-file", file.string()};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (auto& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    id_ = ::fork();
    if (id_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the server does not outlive an aborted stress test
        ::execv(tutti.c_str(), argv.data());
        ::_exit(127);
    }
    while (!std::filesystem::exists(file)) {
        int status = 0;
        if (::waitpid(id_, &status, WNOHANG) == id_) {
            id_ = 0;
            throw std::runtime_error{"the server did not start"};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    std::ifstream{file} >> port_;
    std::filesystem::remove(file);
}

server_process::~server_process() {
    if (id_ == 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
}

std::size_t server_process::resident() const {
    std::ifstream status{"/proc/" + std::to_string(id_) + "/status"};
    for (std::string word; status >> word;) {
        std::size_t kilobytes = 0;
        if (word == "VmRSS:" && status >> kilobytes) return kilobytes;
    }
    throw std::runtime_error{"the server is gone"};
}

int server_process::end() {
    ::kill(id_, SIGTERM);
    int status = 0;
    ::waitpid(id_, &status, 0);
    id_ = 0;
    return status;
}

}  // namespace tutti::stress
