#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/cluster/channel.h"

/// How processes on several machines find each other: one listens and hands out an invitation (through MPI, say), the
/// others connect. The port is open only until all have come. On every connection each end proves to the other that it
/// knows the invitation's secret (HMAC-SHA-256 over a nonce of both), which is never sent; whoever cannot is turned
/// away, and held up for no longer than some seconds. What follows is neither encrypted nor signed.
namespace lpes::cluster {

/// Where to connect to, and as what.
struct Invitation {
    std::vector<std::string> addresses;  ///< numeric, of every interface of the inviting machine
    std::string host;                    ///< its name
    int port = 0;
    std::string secret;   ///< hexadecimal
    int connections = 0;  ///< that each guest is to make
};
/// One line of text, and back. Failed for a text that is no invitation.
[[nodiscard]] std::string toText(const Invitation& invitation);
[[nodiscard]] Result<Invitation> invitationFromText(const std::string& text);

/// Connections of one rank, or of all other ranks: in order of rank, then of connection.
using Channels = std::vector<std::unique_ptr<Channel>>;

inline constexpr std::chrono::seconds kRendezvousLimit{60};

/// thread-compatible.
class Host {
  public:
    /// Listens on a free port. Failed when there is none.
    [[nodiscard]] static Result<std::unique_ptr<Host>> open(int connections);
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    [[nodiscard]] const Invitation& invitation() const { return m_invitation; }
    /// Waits until ranks 1 … ranks−1 have come with all their connections. isLostPeer, naming who is missing, after
    /// `limit`; Failed with model::kStoppedMessage when stopped.
    [[nodiscard]] Result<Channels> gather(int ranks, std::stop_token stop,
                                          std::chrono::milliseconds limit = kRendezvousLimit);

  private:
    Host(int socket, Invitation invitation) : m_socket(socket), m_invitation(std::move(invitation)) {}

    int m_socket;
    Invitation m_invitation;
};

/// Makes the invitation's connections as rank `rank`. isLostPeer when none of its addresses answers within `limit`.
[[nodiscard]] Result<Channels> visit(const Invitation& invitation, int rank,
                                     std::chrono::milliseconds limit = kRendezvousLimit);

}  // namespace lpes::cluster
