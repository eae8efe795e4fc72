#include "core/remote/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stop_token>
#include <thread>

#include "core/base/descriptor.h"
#include "core/remote/wake.h"
#include "tests/support/temp_folder.h"

namespace lpes::remote {
namespace {

using nlohmann::json;
using Kind = Channel::Kind;

class RemoteChannel : public testing::Test {
  protected:
    RemoteChannel() {
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
    }
    ~RemoteChannel() override {
        for (const int end : ends) {
            if (end >= 0) ::close(end);
        }
    }
    /// Bytes from the other side.
    void arrives(const std::string& bytes) { ASSERT_EQ(writeAll(ends[1], bytes), 0); }
    void hangUp() {
        ::close(ends[1]);
        ends[1] = -1;
    }
    static std::string bytesOf(const std::filesystem::path& file) {
        std::ifstream stream(file, std::ios::binary);
        std::stringstream text;
        text << stream.rdbuf();
        return text.str();
    }

    int ends[2] = {-1, -1};
    test::TempFolder folder;
};

TEST_F(RemoteChannel, MessagesArriveInPiecesAndTogether) {
    Channel channel(ends[0], ends[0]);
    arrives("{\"n\":1}\n{\"n\":2}\n{\"n\"");
    EXPECT_EQ(channel.receive(-1).message["n"], 1);
    EXPECT_EQ(channel.receive(0).message["n"], 2);
    EXPECT_EQ(channel.receive(0).kind, Kind::Nothing);
    arrives(":3}\n");
    EXPECT_EQ(channel.receive(-1).message["n"], 3);
    arrives("{\"n\":4}");
    hangUp();
    EXPECT_EQ(channel.receive(-1).kind, Kind::Closed) << "half a message is none";
    EXPECT_TRUE(channel.closed());
}

TEST_F(RemoteChannel, WhatALoginShellSaysIsPassedOver) {
    Channel channel(ends[0], ends[0]);
    arrives("Welcome to somewhere\n\n42\n[1,2]\n{\"lpes_remote\":1}\n");
    EXPECT_EQ(channel.receive(-1).message["lpes_remote"], 1);
    EXPECT_EQ(channel.strayLine(), "[1,2]");
}

TEST_F(RemoteChannel, BytesStandBetweenMessages) {
    Channel here(ends[0], ends[0]), there(ends[1], ends[1]);
    std::string bytes(300'000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);  // line ends among them
    const auto source = folder.write("source", bytes);
    std::thread sender([&] {
        EXPECT_TRUE(there.send({{"bytes", bytes.size()}, {"n", 1}}));
        EXPECT_TRUE(there.sendFile(source, bytes.size()));
        EXPECT_TRUE(there.send({{"n", 2}, {"last", true}}));
    });
    const json header = here.receive(-1).message;
    ASSERT_TRUE(here.receiveFile(folder.path() / "copy", header["bytes"].get<std::uint64_t>()));
    EXPECT_EQ(here.receive(-1).message["n"], 2);
    sender.join();
    EXPECT_EQ(bytesOf(folder.path() / "copy") == bytes, true);
}

TEST_F(RemoteChannel, AFileThatCannotBeWrittenLeavesTheMessagesWhole) {
    Channel channel(ends[0], ends[0]);
    arrives("12345{\"n\":1}\n");
    const auto refused = channel.receiveFile(folder.path() / "missing" / "file", 5);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("missing"));
    EXPECT_FALSE(channel.closed());
    EXPECT_EQ(channel.receive(-1).message["n"], 1);
}

TEST_F(RemoteChannel, TheOtherSideGoesWhileBytesCome) {
    Channel channel(ends[0], ends[0]);
    arrives("123");
    hangUp();
    EXPECT_FALSE(channel.receiveFile(folder.path() / "file", 5));
    EXPECT_TRUE(channel.closed());
    EXPECT_FALSE(channel.send({{"n", 1}, {"m", 2}})) << "an error, and no signal";
}

TEST_F(RemoteChannel, AFileThatBecameShorterIsRefused) {
    Channel channel(ends[0], ends[0]);
    const auto sent = channel.sendFile(folder.write("short", "123"), 5);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, ErrorCode::BadInput);
}

TEST_F(RemoteChannel, AStopEndsTheWait) {
    Channel channel(ends[0], ends[0]);
    std::stop_source stop;
    const Wake wake(stop.get_token());
    EXPECT_FALSE(wake.waitFor(0));
    std::thread user([&] { stop.request_stop(); });
    EXPECT_EQ(channel.receive(-1, wake.descriptor()).kind, Kind::Woken);
    user.join();
    EXPECT_TRUE(wake.waitFor(0));
    const Wake late(stop.get_token());
    EXPECT_TRUE(late.waitFor(0)) << "requested before";
}

TEST_F(RemoteChannel, AnInterruptEndsEveryWait) {
    constexpr std::size_t kMoreThanFits = 8u << 20;
    const auto source = folder.write("source", std::string(kMoreThanFits, 'x'));
    std::stop_source stop;
    const Wake wake(stop.get_token());
    Channel sending(ends[0], ends[0]);
    sending.setInterrupt(wake.descriptor());
    std::thread user([&] { stop.request_stop(); });
    EXPECT_FALSE(sending.sendFile(source, kMoreThanFits)) << "nobody reads";
    user.join();
    EXPECT_TRUE(sending.closed());
    Channel receiving(ends[0], ends[0]);
    receiving.setInterrupt(wake.descriptor());
    EXPECT_EQ(receiving.receive(-1).kind, Kind::Closed);
    EXPECT_FALSE(receiving.receiveFile(folder.path() / "file", 5));
    EXPECT_FALSE(receiving.send({{"n", 1}, {"m", 2}}));
}

}  // namespace
}  // namespace lpes::remote
