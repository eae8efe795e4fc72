#include "core/cluster/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <numeric>
#include <thread>

namespace lpes::test {
namespace {

using cluster::Channel;
using cluster::Message;
using testing::HasSubstr;

class Channels : public testing::Test {
  protected:
    void SetUp() override {
        auto pair = cluster::channelPair("here", "there");
        ASSERT_TRUE(pair) << pair.error().text();
        here = std::move(pair->first);
        there = std::move(pair->second);
    }
    std::unique_ptr<Channel> here, there;
};

TEST_F(Channels, CarryMessagesWholeAndInOrderBothWays) {
    Message large(3'000'000);
    std::iota(large.begin(), large.end(), std::uint8_t{0});
    std::jthread sender([&] {
        ASSERT_TRUE(here->send(Message{1, 2, 3}));
        ASSERT_TRUE(here->send(Message{}));
        ASSERT_TRUE(here->send(large));
    });
    EXPECT_EQ(*there->receive(), (Message{1, 2, 3}));
    EXPECT_EQ(*there->receive(), Message{});
    EXPECT_EQ(*there->receive(), large);
    ASSERT_TRUE(there->send(Message{9}));
    EXPECT_EQ(*here->receive(), Message{9});
}

TEST_F(Channels, APeerThatIsGoneIsNamed) {
    EXPECT_TRUE(here->isAlive());
    there.reset();
    EXPECT_FALSE(here->isAlive());
    const auto message = here->receive();
    ASSERT_FALSE(message);
    EXPECT_TRUE(cluster::isLostPeer(message.error()));
    EXPECT_THAT(message.error().message, HasSubstr("there"));
}

TEST_F(Channels, ALostPeerIsNoticedWhileWaiting) {
    std::jthread leaver([&] { there->close(); });
    const auto message = here->receive();
    ASSERT_FALSE(message);
    EXPECT_TRUE(cluster::isLostPeer(message.error()));
    EXPECT_FALSE(here->isClosed());
    EXPECT_TRUE(there->isClosed());
}

TEST_F(Channels, ClosingWakesTheOwnReceiver) {
    std::jthread closer([&] { here->close(); });
    EXPECT_FALSE(here->receive());
    EXPECT_FALSE(here->send(Message{1}));
}

TEST_F(Channels, WaitTellsAMessageFromSilence) {
    EXPECT_FALSE(here->wait(std::chrono::milliseconds(1)));
    ASSERT_TRUE(there->send(Message{1}));
    EXPECT_TRUE(here->wait(std::chrono::seconds(10)));
    EXPECT_TRUE(here->isAlive());
}

TEST(Channel, AMessageThatDoesNotComeWholeInTimeIsALostPeer) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    Channel channel(ends[0], "a slow one");
    channel.setTimeout(std::chrono::milliseconds(20));
    const Message part{0, 0, 0, 0, 0, 0, 0, 5, 1, 2};
    ASSERT_EQ(::send(ends[1], part.data(), part.size(), 0), 10);
    const auto message = channel.receive();
    ASSERT_FALSE(message);
    EXPECT_TRUE(cluster::isLostPeer(message.error()));
    EXPECT_THAT(message.error().detail, HasSubstr("does not answer"));
    ::close(ends[1]);
}

TEST(Channel, AnAnnouncementBeyondTheLimitIsRefusedBeforeMemoryIsTaken) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    Channel channel(ends[0], "a liar");
    const Message announced(8, 0xff);
    ASSERT_EQ(::send(ends[1], announced.data(), announced.size(), 0), 8);
    const auto message = channel.receive();
    ASSERT_FALSE(message);
    EXPECT_TRUE(cluster::isLostPeer(message.error()));
    EXPECT_THAT(message.error().detail, HasSubstr("18446744073709551615 bytes"));
    ::close(ends[1]);
}

TEST(Channel, AMessageThatBreaksOffIsALostPeer) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    Channel channel(ends[0], "a peer");
    const Message part{0, 0, 0, 0, 0, 0, 0, 5, 1, 2};
    ASSERT_EQ(::send(ends[1], part.data(), part.size(), 0), 10);
    ::close(ends[1]);
    const auto message = channel.receive();
    ASSERT_FALSE(message);
    EXPECT_TRUE(cluster::isLostPeer(message.error()));
}

}  // namespace
}  // namespace lpes::test
