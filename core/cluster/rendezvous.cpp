#include "core/cluster/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/base/checksum.h"
#include "core/base/host.h"
#include "core/base/json_text.h"
#include "core/model/causal_lm.h"

namespace lpes::cluster {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostGreeting = 4096;
constexpr std::chrono::seconds kGreeting{5};  ///< for whoever connects and says nothing
constexpr int kConnectMs = 3000;              ///< for an address that does not answer
constexpr std::chrono::milliseconds kPoll{100};

tl::unexpected<Error> failed(const std::string& message, int error) {
    return fail(ErrorCode::Failed, message, std::strerror(error));
}

/// Addresses of the interfaces that are up, those that other machines see first.
std::vector<std::string> ownAddresses() {
    std::vector<std::string> others, loopback;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return {"127.0.0.1"};
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        const bool v4 = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET;
        const bool v6 = one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET6;
        if ((!v4 && !v6) || (one->ifa_flags & IFF_UP) == 0) continue;
        // A link-local address means nothing without the other side's interface.
        if (v6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)) continue;
        char text[NI_MAXHOST];
        const socklen_t size = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (::getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
        ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : others).emplace_back(text);
    }
    ::freeifaddrs(all);
    others.insert(others.end(), loopback.begin(), loopback.end());
    return others;
}

/// 256 bits that nobody can guess.
Result<std::string> randomHex() {
    unsigned char bytes[32];
    if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
        return failed("the system has no random numbers for the ranks' secret", errno);
    std::string text;
    for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

/// Takes equally long wherever they differ.
bool sameText(const std::string& one, const std::string& other) {
    if (one.size() != other.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < one.size(); ++i) difference |= static_cast<unsigned char>(one[i] ^ other[i]);
    return difference == 0;
}

Message bytesOf(const std::string& text) {
    return {text.begin(), text.end()};
}

std::string textOf(const Message& message) {
    return {message.begin(), message.end()};
}

/// A connected socket; −1 where the address does not answer.
int connectTo(const std::string& address, int port) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool connected = false;
    if (socket >= 0) {
        connected = ::connect(socket, found->ai_addr, found->ai_addrlen) == 0;
        pollfd waiting{socket, POLLOUT, 0};
        if (!connected && errno == EINPROGRESS && ::poll(&waiting, 1, kConnectMs) == 1) {
            int error = 0;
            socklen_t size = sizeof error;
            connected = ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
        }
    }
    ::freeaddrinfo(found);
    if (!connected) {
        if (socket >= 0) ::close(socket);
        return -1;
    }
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    return socket;
}

struct Greeting {
    int rank = 0, connection = 0;
    std::string host;
};

/// That `who` ("host" or "guest") knows the secret, for this one connection: each end has drawn a nonce for it.
std::string proofOf(const Invitation& invitation, const char* who, const std::string& hosts, const std::string& guests,
                    int rank, int connection) {
    return hmacSha256Hex(invitation.secret, fmt::format("{} {} {} {} {}", who, hosts, guests, rank, connection));
}

/// Nothing for whoever does not know the secret. It is never sent: neither does a stranger learn it who answers at one
/// of the invitation's addresses, nor does he pass for the host.
std::optional<Greeting> greet(Channel& channel, const Invitation& invitation) {
    const auto own = randomHex();
    channel.setTimeout(kGreeting);
    if (!own || !channel.send(bytesOf(*own))) return std::nullopt;
    const auto message = channel.receive(kMostGreeting);
    if (!message) return std::nullopt;
    // As text, which is read without recursion: CBOR would be followed as deep as a stranger nests it.
    const json said = json::parse(message->begin(), message->end(), nullptr, false);
    try {
        Greeting guest{said.at("rank"), said.at("connection"), said.at("host")};
        const std::string nonce = said.at("nonce"), proof = said.at("proof");
        if (!sameText(proof, proofOf(invitation, "guest", *own, nonce, guest.rank, guest.connection)))
            return std::nullopt;
        const Message welcome = bytesOf(proofOf(invitation, "host", *own, nonce, guest.rank, guest.connection));
        if (!channel.send(welcome)) return std::nullopt;
        channel.setTimeout({});
        return guest;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

/// The other side of greet. Another machine may have the same private address: only the host knows what to answer.
bool introduce(Channel& channel, const Invitation& invitation, int rank, int connection) {
    const auto own = randomHex();
    channel.setTimeout(kGreeting);
    const auto challenge = channel.receive(kMostGreeting);
    if (!own || !challenge) return false;
    const auto proof = [&](const char* who) {
        return proofOf(invitation, who, textOf(*challenge), *own, rank, connection);
    };
    const json greeting{
        {"rank", rank}, {"connection", connection}, {"host", hostName()}, {"nonce", *own}, {"proof", proof("guest")}};
    if (!channel.send(bytesOf(jsonLine(greeting)))) return false;
    const auto welcome = channel.receive(kMostGreeting);
    if (!welcome || !sameText(textOf(*welcome), proof("host"))) return false;
    channel.setTimeout({});
    return true;
}

/// The first rank below `ranks` that lacks a connection.
int missingRank(const std::map<std::pair<int, int>, std::unique_ptr<Channel>>& come, int ranks, int connections) {
    for (int rank = 1; rank < ranks; ++rank) {
        for (int connection = 0; connection < connections; ++connection) {
            if (!come.contains({rank, connection})) return rank;
        }
    }
    return ranks;
}

}  // namespace

std::string toText(const Invitation& invitation) {
    return jsonLine({{"addresses", invitation.addresses},
                     {"host", invitation.host},
                     {"port", invitation.port},
                     {"secret", invitation.secret},
                     {"connections", invitation.connections}});
}

Result<Invitation> invitationFromText(const std::string& text) {
    try {
        const json object = json::parse(text);
        return Invitation{object.at("addresses"), object.at("host"), object.at("port"), object.at("secret"),
                          object.at("connections")};
    } catch (const json::exception& error) {
        return fail(ErrorCode::Failed, "what rank 0 sent is no invitation; start the same lpes on every machine",
                    error.what());
    }
}

Result<std::unique_ptr<Host>> Host::open(int connections) {
    Invitation invitation{ownAddresses(), hostName(), 0, {}, connections};
    auto secret = randomHex();
    if (!secret) return fail(secret.error());
    invitation.secret = std::move(*secret);
    // One socket for both kinds of address; a kernel without IPv6 has IPv4 alone.
    sockaddr_storage any{};
    any.ss_family = AF_INET6;
    int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int no = 0;
    if (socket >= 0) {
        (void)::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    } else {
        any.ss_family = AF_INET;
        socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    if (socket < 0) return failed("the system has no socket left; close other programs", errno);
    const socklen_t size = any.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    socklen_t bound = sizeof any;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&any), size) != 0 || ::listen(socket, SOMAXCONN) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&any), &bound) != 0) {
        const int error = errno;
        ::close(socket);
        return failed("cannot listen for the other ranks on any port", error);
    }
    invitation.port = ntohs(any.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&any)->sin6_port
                                                      : reinterpret_cast<sockaddr_in*>(&any)->sin_port);
    return std::unique_ptr<Host>(new Host(socket, std::move(invitation)));
}

Host::~Host() {
    ::close(m_socket);
}

Result<Channels> Host::gather(int ranks, std::stop_token stop, std::chrono::milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    std::map<std::pair<int, int>, std::unique_ptr<Channel>> come;
    const auto wanted = static_cast<std::size_t>(ranks - 1) * static_cast<std::size_t>(m_invitation.connections);
    const auto allAreHere = [&] {
        // Who waited too long has hung up, and comes once more.
        std::erase_if(come, [](const auto& one) { return !one.second->isAlive(); });
        return come.size() == wanted;
    };
    while (!allAreHere()) {
        if (stop.stop_requested()) return fail(ErrorCode::Failed, model::kStoppedMessage);
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Failed,
                        fmt::format("rank {} did not connect to '{}' within {} s; can the machines reach each other's "
                                    "ports?",
                                    missingRank(come, ranks, m_invitation.connections), m_invitation.host,
                                    limit.count() / 1000),
                        {}, kLostPeerContext);
        }
        pollfd waiting{m_socket, POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(kPoll.count())) != 1) continue;
        const int socket = ::accept4(m_socket, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        auto channel = std::make_unique<Channel>(socket, "a guest");
        const auto greeting = greet(*channel, m_invitation);
        if (!greeting || greeting->rank < 1 || greeting->rank >= ranks || greeting->connection < 0 ||
            greeting->connection >= m_invitation.connections) {
            continue;
        }
        channel->rename(fmt::format("rank {} on '{}'", greeting->rank, greeting->host));
        // A guest that waited too long has connected once more: the newer one is alive.
        come.insert_or_assign({greeting->rank, greeting->connection}, std::move(channel));
    }
    Channels channels;
    for (auto& [place, channel] : come) channels.push_back(std::move(channel));
    return channels;
}

Result<Channels> visit(const Invitation& invitation, int rank, std::chrono::milliseconds limit) {
    const auto deadline = Clock::now() + limit;
    std::vector<std::string> addresses = invitation.addresses;
    if (invitation.host == hostName()) addresses.insert(addresses.begin(), "127.0.0.1");
    const std::string host = fmt::format("rank 0 on '{}'", invitation.host);
    Channels channels;
    const auto all = [&] { return static_cast<int>(channels.size()) == invitation.connections; };
    while (true) {
        for (const std::string& address : addresses) {
            while (!all()) {
                const int socket = connectTo(address, invitation.port);
                if (socket < 0) break;
                auto channel = std::make_unique<Channel>(socket, host);
                if (!introduce(*channel, invitation, rank, static_cast<int>(channels.size()))) break;
                channels.push_back(std::move(channel));
            }
        }
        if (all()) return channels;
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Failed, fmt::format("{} does not answer on port {}", host, invitation.port), {},
                        kLostPeerContext);
        }
        std::this_thread::sleep_for(kPoll);
    }
}

}  // namespace lpes::cluster
