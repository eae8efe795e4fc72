#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/result.h"
#include "core/remote/channel.h"
#include "core/remote/host.h"

namespace lpes::remote {

/// One connection to `lpes remote serve` on a machine, through a child process that runs ssh. Requests are answered one
/// after the other; what a search there says comes between the answers and is kept until it is asked for.
/// thread-compatible.
class Session {
  public:
    /// Connects and greets. Unsupported where ssh is missing here, lpes there, or the two do not fit together; Failed
    /// where the machine cannot be reached (connectionError). Waits for `wake` too: then Failed, as woken() says.
    [[nodiscard]] static Result<std::unique_ptr<Session>> open(const Host& host, int wake);
    /// Tells the other side that nothing more comes, and ends ssh: within seconds, whatever holds it up.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// A descriptor that ends every wait for the other side, which is lost then; −1: none. An answer may take as long
    /// as a disk there or the network does.
    void setInterrupt(int descriptor) { m_channel.setInterrupt(descriptor); }

    /// The answer to a request. The other side's error as it says, with the machine in front; Failed when the
    /// connection is lost (lost() is true from then on).
    [[nodiscard]] Result<nlohmann::json> ask(const nlohmann::json& request);
    /// A request that is followed by a file of that many bytes.
    [[nodiscard]] Result<nlohmann::json> askWithFile(const nlohmann::json& request, const std::filesystem::path& file,
                                                     std::uint64_t bytes);
    /// A request that has no answer.
    [[nodiscard]] Result<void> tell(const nlohmann::json& request);
    /// The bytes that an answer announced.
    [[nodiscard]] Result<void> receiveFile(const std::filesystem::path& file, std::uint64_t bytes);
    /// What the search there says ("line", "ended"), as Channel::receive.
    [[nodiscard]] Channel::Incoming nextEvent(int timeoutMs, int wake);

    [[nodiscard]] bool lost() const { return m_lost; }
    /// Why it was lost, as ssh said; ends ssh.
    [[nodiscard]] std::string whyLost();
    [[nodiscard]] const std::string& version() const { return m_version; }  ///< of lpes there

  private:
    Session(Host host, pid_t child, int in, int out, int errors);
    [[nodiscard]] Result<void> greet(int wake);
    [[nodiscard]] Result<nlohmann::json> answer();
    [[nodiscard]] Error lostError();
    /// Waits for ssh, which is told to end where it does not by itself, and killed where it does not listen: its exit
    /// code.
    int end();
    [[nodiscard]] std::string standardError() const;

    Host m_host;
    pid_t m_child;
    int m_in, m_out, m_errors;  ///< what it prints, what it reads, a file with what it complained about
    int m_exitCode = 0;
    Channel m_channel;
    std::deque<nlohmann::json> m_events;
    bool m_lost = false;
    std::string m_version;
};

}  // namespace lpes::remote
