#include "core/cluster/rendezvous.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "core/model/causal_lm.h"

namespace lpes::test {
namespace {

using cluster::Channels;
using cluster::Host;
using cluster::Invitation;
using testing::HasSubstr;

/// What a machine alone can try: the loopback address.
Invitation onLoopback(Invitation invitation) {
    invitation.addresses = {"127.0.0.1"};
    return invitation;
}

TEST(Rendezvous, RanksComeInAnyOrderAndStandInTheirs) {
    auto host = Host::open(2);
    ASSERT_TRUE(host) << host.error().text();
    const Invitation invitation = onLoopback((*host)->invitation());
    Result<Channels> guests[3];
    std::vector<std::jthread> threads;
    for (const int rank : {2, 1}) threads.emplace_back([&, rank] { guests[rank] = cluster::visit(invitation, rank); });
    auto channels = (*host)->gather(3, {});
    threads.clear();
    ASSERT_TRUE(channels) << channels.error().text();
    ASSERT_EQ(channels->size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
        const int rank = i < 2 ? 1 : 2;
        EXPECT_THAT((*channels)[i]->peer(), HasSubstr("rank " + std::to_string(rank) + " on '"));
        ASSERT_TRUE(guests[rank]) << guests[rank].error().text();
        ASSERT_TRUE((*channels)[i]->send(cluster::Message{static_cast<std::uint8_t>(i)}));
        EXPECT_EQ(*(*guests[rank])[i % 2]->receive(), cluster::Message{static_cast<std::uint8_t>(i)});
    }
}

TEST(Rendezvous, WhoeverDoesNotKnowTheSecretIsTurnedAway) {
    auto host = Host::open(1);
    ASSERT_TRUE(host) << host.error().text();
    Invitation wrong = onLoopback((*host)->invitation());
    wrong.secret[0] = wrong.secret[0] == '0' ? '1' : '0';
    Result<Channels> stranger, guest;
    std::jthread first([&] { stranger = cluster::visit(wrong, 1, std::chrono::milliseconds(1)); });
    std::jthread second([&] {
        first.join();
        guest = cluster::visit(onLoopback((*host)->invitation()), 1);
    });
    const auto channels = (*host)->gather(2, {});
    second.join();
    ASSERT_TRUE(channels) << channels.error().text();
    ASSERT_FALSE(stranger);
    EXPECT_TRUE(cluster::isLostPeer(stranger.error()));
    ASSERT_TRUE(guest) << guest.error().text();
    ASSERT_TRUE(channels->front()->send(cluster::Message{7}));
    EXPECT_EQ(*guest->front()->receive(), cluster::Message{7});
}

/// Listens on the loopback address, as somebody else may at an address that the host has as well.
class Impostor {
  public:
    Impostor() : m_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        m_address.sin_family = AF_INET;
        EXPECT_EQ(::inet_pton(AF_INET, "127.0.0.1", &m_address.sin_addr), 1);
        socklen_t size = sizeof m_address;
        auto* const address = reinterpret_cast<sockaddr*>(&m_address);
        EXPECT_EQ(::bind(m_socket, address, size), 0);
        EXPECT_EQ(::listen(m_socket, 1), 0);
        EXPECT_EQ(::getsockname(m_socket, address, &size), 0);
    }
    ~Impostor() { ::close(m_socket); }
    Impostor(const Impostor&) = delete;
    Impostor& operator=(const Impostor&) = delete;
    [[nodiscard]] int port() const { return ntohs(m_address.sin_port); }
    [[nodiscard]] int accept() const { return ::accept4(m_socket, nullptr, nullptr, SOCK_CLOEXEC); }

  private:
    sockaddr_in m_address{};
    int m_socket;
};

TEST(Rendezvous, WhoeverListensInTheHostsPlaceLearnsNoSecretAndIsNotBelieved) {
    const Impostor impostor;
    const std::string secret(64, 'e');
    const Invitation invitation{{"127.0.0.1"}, "far away", impostor.port(), secret, 1};
    Result<Channels> guest;
    std::jthread visitor([&] { guest = cluster::visit(invitation, 1, std::chrono::milliseconds(1)); });
    cluster::Channel channel(impostor.accept(), "a guest");
    ASSERT_TRUE(channel.send(cluster::Message(64, '7')));
    const auto said = channel.receive();
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_EQ(std::string(said->begin(), said->end()).find(secret), std::string::npos);
    // The guest's own proof, sent back, is not the host's.
    const auto greeting = nlohmann::json::parse(said->begin(), said->end());
    const auto proof = greeting.at("proof").get<std::string>();
    ASSERT_TRUE(channel.send(cluster::Message(proof.begin(), proof.end())));
    EXPECT_FALSE(channel.receive()) << "the guest hangs up";
    visitor.join();
    ASSERT_FALSE(guest);
    EXPECT_TRUE(cluster::isLostPeer(guest.error()));
}

TEST(Rendezvous, AMissingRankIsNamed) {
    auto host = Host::open(1);
    ASSERT_TRUE(host) << host.error().text();
    const Invitation invitation = onLoopback((*host)->invitation());
    Result<Channels> guest;
    std::jthread first([&] { guest = cluster::visit(invitation, 1); });
    const auto channels = (*host)->gather(3, {}, std::chrono::milliseconds(1500));
    ASSERT_FALSE(channels);
    EXPECT_TRUE(cluster::isLostPeer(channels.error()));
    EXPECT_THAT(channels.error().message, HasSubstr("rank 2 did not connect"));
}

TEST(Rendezvous, GatheringCanBeStopped) {
    auto host = Host::open(1);
    ASSERT_TRUE(host) << host.error().text();
    std::stop_source source;
    source.request_stop();
    const auto channels = (*host)->gather(2, source.get_token());
    ASSERT_FALSE(channels);
    EXPECT_TRUE(model::wasStopped(channels.error()));
}

TEST(Rendezvous, AnInvitationSurvivesAsTextAndOneToNothingBringsNothing) {
    const Invitation invitation{{"10.0.0.1", "fd00::1"}, "node7", 4711, "ab", 3};
    const auto read = cluster::invitationFromText(cluster::toText(invitation));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->addresses, invitation.addresses);
    EXPECT_EQ(read->host, "node7");
    EXPECT_EQ(read->port, 4711);
    EXPECT_EQ(read->secret, "ab");
    EXPECT_EQ(read->connections, 3);
    EXPECT_FALSE(cluster::invitationFromText("{}"));
    EXPECT_FALSE(cluster::invitationFromText("hello"));
    const auto nothing = cluster::visit({}, 1);
    ASSERT_TRUE(nothing) << nothing.error().text();
    EXPECT_TRUE(nothing->empty());
}

}  // namespace
}  // namespace lpes::test
