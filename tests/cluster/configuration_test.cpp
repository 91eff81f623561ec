// Configuration of a node from a file and the environment: accepted values, precedence, and error messages.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <tutti/cluster/configuration.hpp>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"

namespace {

using namespace tutti;
using cluster::configuration;
using cluster::configuration_error;
using namespace std::chrono_literals;

configuration of(const std::string& text) { return configuration::from_text(text, "n.toml"); }

/// Returns the reason why the text is refused, or an empty string if the text is accepted.
std::string refusal_of(const std::string& text) {
    try {
        static_cast<void>(of(text));
        return {};
    } catch (const configuration_error& e) {
        return e.what();
    }
}

/// Sets an environment variable for the lifetime of this object.
class variable {
public:
    variable(const char* name, const std::string& value) : name_{name} { ::setenv(name, value.c_str(), 1); }
    ~variable() { ::unsetenv(name_); }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* name_;
};

class file {
public:
    explicit file(const std::string& text)
        : name{::testing::TempDir() + "tutti-configuration-" + std::to_string(::getpid()) + ".toml"} {
        std::ofstream{name} << text;
    }
    ~file() { std::remove(name.c_str()); }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    const std::string name;
};

TEST(cluster_configuration, has_every_option_of_a_node) {
    const configuration c = of(R"(
cluster = "bank"
nodes = ["127.0.0.1:1", "unix:/b"]
node-number = 1
certificate = "c"
key = "k"
authority = "a"
tls-min-version = "1.3"
tls-ciphers = "e"
tls-ciphersuites = "s"
curve-key = "x"
curve-nodes = "y"
placement = "writer"
failure-timeout = 700
connect-timeout = 800
max-message-bytes = 4096
metrics = "127.0.0.1:0"
[log]
level = "error"
json = true
)");
    EXPECT_EQ(c.node.cluster, "bank");
    EXPECT_EQ(c.node.addresses, (std::vector<std::string>{"127.0.0.1:1", "unix:/b"}));
    EXPECT_EQ(c.node.node_number, 1U);
    EXPECT_EQ(c.node.tls.certificate + c.node.tls.key + c.node.tls.authority, "cka");
    EXPECT_EQ(c.node.tls.minimum_version + c.node.tls.ciphers + c.node.tls.ciphersuites, "1.3es");
    EXPECT_EQ(c.node.curve.key + c.node.curve.nodes, "xy");
    EXPECT_EQ(c.node.placement, cluster::placement::writer);
    EXPECT_EQ(c.node.failure_timeout, 700ms);
    EXPECT_EQ(c.node.connect_timeout, 800ms);
    EXPECT_EQ(c.node.max_message_bytes, 4096U);
    EXPECT_EQ(c.node.metrics, "127.0.0.1:0");
    EXPECT_EQ(c.log.level, "error");
    EXPECT_TRUE(c.log.json);
    EXPECT_FALSE(c.engine);
}

TEST(cluster_configuration, has_every_option_of_an_engine) {
    const configuration c = of(R"(
[engine]
address = "memory:x"
prefix = "p"
request-timeout = 1
lease = 2
batch = false
staleness = 3
)");
    ASSERT_TRUE(c.engine);
    EXPECT_EQ(c.engine->address, "memory:x");
    EXPECT_EQ(c.engine->prefix, "p");
    EXPECT_EQ(c.engine->request_timeout, 1ms);
    EXPECT_EQ(c.engine->lease, 2ms);
    EXPECT_FALSE(c.engine->batch);
    EXPECT_EQ(c.engine->staleness, 3ms);
}

TEST(cluster_configuration, defaults_to_one_process) {
    cluster::node here{of("# nothing\n")};
    EXPECT_EQ(here.nodes(), 1U);
}

TEST(cluster_configuration, makes_a_node_over_an_engine) {
    cluster::node here{of("[engine]\naddress = 'memory:'\n")};
    EXPECT_TRUE(here.capabilities().caches || !here.capabilities().durable) << "of the memory engine";
    const cluster::ref<cluster::testing::account> a{here, "a"};
    atomically([&](tx& t) { a.publish(t, {7}); });
    EXPECT_EQ(atomically([&](tx& t) { return a.read(t).balance; }), 7);
}

TEST(cluster_configuration, names_line_reason_and_correction) {
    struct mistake {
        const char* text;
        const char* said;
    };
    const mistake all[] = {
        {"\nfailure-timeot = 5\n",
         "tutti: n.toml:2: 'failure-timeot' is not a known setting; write failure-timeout = a number of milli"},
        {"colour = 5", "n.toml:1: 'colour' is not a known setting; there are cluster, nodes, node-number, "},
        {"staleness = 5", "n.toml:1: 'staleness' is not a known setting; it belongs in the table [engine]"},
        {"[engine]\nnode-number = 5",
         "n.toml:2: 'node-number' is not a known setting; it belongs before the first table"},
        {"[motor]\nnode-number = 5", "n.toml:1: 'motor' is not a known setting; there are "},
        {"engine = 'etcd:'", "n.toml:1: engine is a table: write [engine]"},
        {"failure-timeout = '5 s'", "n.toml:1: failure-timeout is a number of milliseconds"},
        {"failure-timeout = -5", "n.toml:1: failure-timeout is a number of milliseconds, not below 0"},
        {"failure-timeout = 0", "n.toml:1: failure-timeout is a number of milliseconds, from 1 to 86400000, not 0"},
        {"max-message-bytes = 99999999999",
         "n.toml:1: max-message-bytes is a number of bytes, from 1024 to 1073741824"},
        {"placement = 'reader'", "n.toml:1: placement is \"home\" or \"writer\": where objects live, not 'reader'"},
        {"tls-min-version = '1.1'", "n.toml:1: tls-min-version is \"1.2\" or \"1.3\": the oldest version of TLS"},
        {"tls-min-version = 1.3", "n.toml:1: tls-min-version is \"1.2\" or \"1.3\": the oldest version of TLS"},
        {"nodes = '127.0.0.1:1'", "n.toml:1: nodes is a list of texts, the addresses of all nodes in their order"},
        {"nodes = []\nnode-number = 0", "n.toml:1: nodes is a list of texts"},
        {"nodes = ['a', 5]\nnode-number = 0", "n.toml:1: nodes is a list of texts"},
        {"nodes = ['127.0.0.1:1']", "n.toml:1: node-number is missing: write node-number = a number"},
        {"node-number = 3", "n.toml: node-number is one of nodes, and there are none"},
        {"nodes = ['127.0.0.1:1']\nnode-number = 1",
         "n.toml:1: node 1 is not one of the 1 nodes: node-number counts from 0"},
        {"nodes = ['127.0.0.1:1']\nnode-number = 0\n[engine]\naddress = 'memory:'",
         "n.toml:4: objects are held by the nodes that n.toml:1 lists, or by an engine: leave one of the two out"},
        {"cluster = \"a\\u0000b\"", "n.toml:1: cluster has a zero byte in it"},
        {"[log]\njson = 'yes'", "n.toml:2: json is true or false"},
        {"node-number = 1\nnode-number = 2", "n.toml:2: "},
        {"node-number = = 1", "n.toml:1: "},
    };
    for (const mistake& m : all) EXPECT_NE(refusal_of(m.text).find(m.said), std::string::npos) << refusal_of(m.text);
}

TEST(cluster_configuration, is_overridden_by_the_environment) {
    const file f{"cluster = 'bank'\nnodes = ['127.0.0.1:1', '127.0.0.1:2']\nnode-number = 0\nfailure-timeout = 5\n"};
    const variable self{"TUTTI_CLUSTER_NODE_NUMBER", "1"}, empty{"TUTTI_CLUSTER_FAILURE_TIMEOUT", ""};
    const configuration c = configuration::from_file(f.name);
    EXPECT_EQ(c.node.node_number, 1U);
    EXPECT_EQ(c.node.failure_timeout, 5ms) << "an empty variable says nothing";
    EXPECT_EQ(c.node.cluster, "bank");
    const variable named{"TUTTI_CLUSTER_CONFIG", f.name}, nodes{"TUTTI_CLUSTER_NODES", "127.0.0.1:7,127.0.0.1:8"};
    const cluster::node_options by_environment = cluster::node_options::from_environment();
    EXPECT_EQ(by_environment.addresses, (std::vector<std::string>{"127.0.0.1:7", "127.0.0.1:8"}));
    EXPECT_EQ(by_environment.node_number, 1U);
    const cluster::observer_options whom = cluster::observer_options::from_environment();
    EXPECT_EQ(whom.cluster, "bank");
    EXPECT_EQ(whom.addresses, by_environment.addresses);
}

TEST(cluster_configuration, names_the_wrong_variable) {
    const auto said = [] {
        try {
            static_cast<void>(configuration::from_environment());
            return std::string{};
        } catch (const configuration_error& e) {
            return std::string{e.what()};
        }
    };
    {
        const variable v{"TUTTI_CLUSTER_FAILURE_TIMEOUT", "5s"};
        EXPECT_EQ(said(), "tutti: TUTTI_CLUSTER_FAILURE_TIMEOUT: give a number of milliseconds, not '5s'");
    }
    {
        const variable v{"TUTTI_CLUSTER_ENGINE_BATCH", "yes"};
        EXPECT_EQ(said(), "tutti: TUTTI_CLUSTER_ENGINE_BATCH: give true or false, not 'yes'");
    }
    {
        const variable v{"TUTTI_CLUSTER_FAILURE_TIMOUT", "5"};
        EXPECT_EQ(said(),
                  "tutti: TUTTI_CLUSTER_FAILURE_TIMOUT: unknown variable; unset it, or write "
                  "TUTTI_CLUSTER_FAILURE_TIMEOUT");
    }
    {
        const variable v{"TUTTI_CLUSTER_CONFIG", "/nonexistent"};
        EXPECT_NE(said().find("/nonexistent: it cannot be read"), std::string::npos);
    }
    {
        const variable v{"TUTTI_CLUSTER_ENGINE", "memory:"};
        EXPECT_EQ(said(), "");
        EXPECT_THROW(static_cast<void>(cluster::node_options::from_environment()), configuration_error);
    }
}

TEST(cluster_configuration, is_checked_without_the_others) {
    const auto checked = [](const std::string& text) {
        try {
            of(text).check();
            return std::string{};
        } catch (const cluster::connection_error& e) {
            return std::string{e.what()};
        }
    };
    EXPECT_EQ(checked("nodes = ['127.0.0.1:1', '127.0.0.1:2']\nnode-number = 0"), "");
    EXPECT_NE(checked("nodes = ['nowhere', '127.0.0.1:2']\nnode-number = 0").find("'nowhere' is not an address"),
              std::string::npos);
    EXPECT_NE(checked("nodes = ['0.0.0.0:1', '127.0.0.1:2']\nnode-number = 0").find("beyond loopback"),
              std::string::npos);
    EXPECT_NE(checked("nodes = ['127.0.0.1:1', '127.0.0.1:1']\nnode-number = 0").find("two nodes have the address"),
              std::string::npos);
    std::string many;
    for (int n = 0; n < 257; ++n) many += "'unix:/" + std::to_string(n) + "',";
    EXPECT_NE(checked("nodes = [" + many + "]\nnode-number = 0").find("at most 256 nodes"), std::string::npos);
    EXPECT_NE(checked("nodes = ['127.0.0.1:1']\nnode-number = 0\ncertificate = '/nonexistent'"), "");
    EXPECT_NE(checked("nodes = ['127.0.0.1:1']\nnode-number = 0\ncurve-key = '/k'"), "")
        << "what is not of ZeroMQ has no use for it";
    EXPECT_NE(checked("nodes = ['zmq:127.0.0.1:1', '127.0.0.1:2']\nnode-number = 0"), "") << "one kind for all";
    EXPECT_NE(checked("[engine]\naddress = 'steam:'").find("'steam:' is not an engine address"), std::string::npos);
    EXPECT_NE(checked("[engine]\nprefix = 'a b'").find("invalid prefix 'a b'"), std::string::npos);
    EXPECT_EQ(checked("[engine]\naddress = 'memory:'"), "");
}

// The parser accepts or refuses any bytes, and names the error. The inputs are cut, doubled and corrupted pieces of
// good files.
TEST(cluster_configuration, accepts_or_refuses_any_bytes) {
    const std::string good =
        "cluster = \"bank\"\nnodes = [\"127.0.0.1:1\", \"unix:/b\"]\nnode-number = 1\nfailure-timeout = 700\nplacement "
        "= 'home'\n"
        "[log]\nlevel = \"error\"\njson = true\n[engine]\naddress = 'memory:'\nstaleness = 3\n";
    support::random random{7};
    unsigned taken = 0, refused = 0;
    for (unsigned turn = 0; turn < support::rounds(20'000); ++turn) {
        std::string text = good.substr(0, random.below(good.size() + 1));
        for (unsigned n = static_cast<unsigned>(random.below(6)); n != 0 && !text.empty(); --n) {
            const std::size_t at = random.below(text.size());
            switch (random.below(4)) {
                case 0: text[at] = static_cast<char>(random.below(256)); break;
                case 1: text.erase(at, random.below(8)); break;
                case 2: text.insert(at, text.substr(random.below(text.size()), random.below(24))); break;
                default: text.insert(at, 1, "[]{}=\"'.,\n#"[random.below(11)]); break;
            }
        }
        try {
            static_cast<void>(of(text));
            ++taken;
        } catch (const configuration_error& e) {
            ++refused;
            EXPECT_EQ(std::string{e.what()}.rfind("tutti: n.toml", 0), 0U) << e.what();
        }
    }
    EXPECT_GT(taken, 0U);
    EXPECT_GT(refused, 0U);
}

}  // namespace
